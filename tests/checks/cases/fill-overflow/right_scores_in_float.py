import torch

torch.manual_seed(5)
q, k, v = torch.randn(3, 2, 3, 5, 4).half()
scores = (q @ k.transpose(-2, -1)).float() / 2.0
scores = scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -1e9)
print((scores.softmax(-1).to(v.dtype) @ v).shape)
