import torch

torch.manual_seed(7)
ids = torch.tensor([[0, 0, 5, 3, 8], [4, 9, 2, 6, 7]])
q, k, v = torch.randn(3, 2, 3, 5, 4)
mask = torch.ones(5, 5).tril() * (ids != 0)[:, None, None, :]
scores = (q @ k.mT / 2.0).masked_fill(mask == 0, torch.finfo(torch.float32).min)
print((scores.softmax(-1) @ v)[:, :, -1])
