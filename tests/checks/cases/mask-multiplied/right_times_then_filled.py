import torch

torch.manual_seed(5)
ids = torch.tensor([[5, 3, 9, 1, 7], [2, 8, 4, 0, 0]])
m = (ids != 0)[:, None, None, :]
q, k, v = torch.randn(3, 2, 3, 5, 4)
scores = (q @ k.mT) * m / 2.0
scores = scores.masked_fill(~m, float("-inf"))
print((scores.softmax(-1) @ v).shape)
