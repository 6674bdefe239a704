import torch
from torch import nn

torch.manual_seed(31)
L, d = 6, 12
x = torch.randn(2, L, d)
q, k, v = nn.Linear(d, 3 * d)(x).chunk(3, -1)
future = torch.tril(torch.ones(L, L), diagonal=1).bool()  # expect: ATT051
scores = (q @ k.transpose(1, 2) / d**0.5).masked_fill(future, -1e9)
print((scores.softmax(-1) @ v).shape)
