import torch

torch.manual_seed(6)
q, k, v = torch.randn(3, 2, 3, 5, 4).half()
scores = q @ k.transpose(-2, -1) / 2.0 + torch.full((5, 5), float("-inf"), dtype=torch.half).triu(1)
print((scores.softmax(-1) @ v).shape)
