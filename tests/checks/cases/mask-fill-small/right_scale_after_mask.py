import torch

torch.manual_seed(7)
B, H, L, d = 2, 3, 5, 4
q, k, v = torch.randn(3, B, H, L, d)
scores = q @ k.transpose(-2, -1)
scores = scores.masked_fill(torch.ones(L, L).triu(1).bool(), -1e4)
scores = scores / d**0.5
print((scores.softmax(-1) @ v)[0, 0])
