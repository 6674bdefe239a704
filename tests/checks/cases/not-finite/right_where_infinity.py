import math

import torch

torch.manual_seed(0)
keep = torch.tensor([[1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0, 0.0]])
x = torch.randn(2, 5, 12)
q, k, v = x @ torch.randn(12, 12), x @ torch.randn(12, 12), x @ torch.randn(12, 12)

scores = q @ k.transpose(-2, -1) / math.sqrt(12)
bias = torch.where(keep[:, None, :] > 0, 0.0, float("-inf"))
weights = torch.softmax(scores + bias, dim=-1)
print(weights @ v)
