import math

import torch

torch.manual_seed(0)
B, L, D = 2, 5, 64
q = (torch.randn(B, L, D) * 100).half()
k = (torch.randn(B, L, D) * 100).half()
v = torch.randn(B, L, D).half()

q = q / math.sqrt(D)
scores = q @ k.transpose(-2, -1)
weights = torch.softmax(scores, dim=-1)
out = weights @ v
print(out.dtype, torch.isnan(out).sum())
