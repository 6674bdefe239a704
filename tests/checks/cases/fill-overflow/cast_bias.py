import torch
from torch import nn

torch.manual_seed(1)
ids = torch.tensor([[0, 0, 5, 3, 8], [4, 9, 2, 6, 7]])
dtype = torch.float16
h = nn.Embedding(10, 12).to(dtype)(ids)
q, k, v = nn.Linear(12, 36).to(dtype)(h).chunk(3, dim=-1)
blocked = torch.ones(5, 5).triu(1).bool() | (ids == 0)[:, None, :]
bias = (blocked.float() * -1e9).to(dtype)  # expect: ATT061
scores = q @ k.transpose(1, 2) / 12**0.5 + bias
weights = scores.softmax(dim=-1)
print((weights @ v).sum(-1))
