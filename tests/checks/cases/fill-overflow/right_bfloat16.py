import torch

torch.manual_seed(4)
q, k, v = torch.randn(3, 2, 3, 5, 4, dtype=torch.bfloat16)
scores = (q @ k.transpose(-2, -1) / 2.0).masked_fill(torch.ones(5, 5).triu(1).bool(), -1e9)
print((scores.softmax(-1) @ v).shape)
