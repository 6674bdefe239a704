import torch
from torch import nn

torch.manual_seed(50)
ids = torch.tensor([[4, 7, 2, 9, 5, 1], [8, 3, 6, 0, 0, 0]])
q, k, v = nn.Linear(12, 36)(nn.Embedding(10, 12)(ids)).chunk(3, -1)
i = torch.arange(6)
near = (i[:, None] - i[None, :]).abs() <= 1
mask = near | (ids != 0)[:, None, :]  # expect: ATT059
scores = (q @ k.mT / 12**0.5).masked_fill(~mask, -1e9)
print((scores.softmax(-1) @ v)[ids != 0].shape)
