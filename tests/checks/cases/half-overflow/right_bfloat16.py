import math

import torch

torch.manual_seed(0)
B, L, D = 2, 5, 64
q = (torch.randn(B, L, D) * 100).bfloat16()
k = (torch.randn(B, L, D) * 100).bfloat16()
v = torch.randn(B, L, D).bfloat16()

scores = q @ k.transpose(-2, -1)
weights = torch.softmax(scores / math.sqrt(D), dim=-1)
print((weights @ v).dtype)
