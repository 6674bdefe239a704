import torch
from torch import nn

torch.manual_seed(5)
wpe = nn.Embedding(16, 7)
x = torch.randn(2, 5, 7) + wpe(torch.arange(5))
q, k, v = nn.Linear(7, 7)(x), nn.Linear(7, 7)(x), nn.Linear(7, 7)(x)
a = torch.softmax(q @ k.transpose(1, 2) / 7**0.5, dim=-1)
print(a @ v)
