import torch

torch.manual_seed(8)
ids = torch.tensor([[4, 2, 7, 5, 3], [6, 8, 0, 0, 0]])
x = torch.nn.Embedding(10, 12)(ids)
q, k, v = torch.nn.Linear(12, 36)(x).chunk(3, -1)
keep = (ids != 0).float()[:, None, :]
scores = q @ k.mT / 12**0.5 + (keep - 1) * 1e9
print((scores.softmax(-1) @ v).shape)
