import torch

torch.manual_seed(0)
B, H, L, d = 2, 3, 5, 4
q, k, v = torch.randn(3, B, H, L, d).half()
scores = q @ k.transpose(-2, -1) / d**0.5
future = torch.triu(torch.ones(L, L), diagonal=1).bool()
scores = scores.masked_fill(future, torch.finfo(scores.dtype).min)
out = torch.softmax(scores, dim=-1) @ v
print(out.dtype, out[0, 0])
