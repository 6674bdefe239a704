import torch
from torch import nn

# 左填充：每个词元至少要看得到自己
torch.manual_seed(32)
ids = torch.tensor([[0, 0, 7, 3, 9], [4, 8, 2, 6, 1]])
q, k, v = nn.Linear(12, 36)(nn.Embedding(10, 12)(ids)).chunk(3, -1)
causal = torch.ones(5, 5, dtype=torch.bool).tril()
keep = causal & (ids != 0)[:, None, :] & torch.eye(5, dtype=torch.bool)
scores = (q @ k.mT / 12**0.5).masked_fill(~keep, -1e9)  # expect: ATT051
print((scores.softmax(-1) @ v)[:, -1])
