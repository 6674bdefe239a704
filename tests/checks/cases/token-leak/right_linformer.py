import torch
from torch import nn

# keys and values are projected along the sequence, 7 tokens to 3
torch.manual_seed(4)
x = torch.randn(2, 7, 12)
E, G = nn.Linear(7, 3, bias=False), nn.Linear(7, 3, bias=False)
q, k, v = nn.Linear(12, 12)(x), nn.Linear(12, 12)(x), nn.Linear(12, 12)(x)
k, v = E(k.transpose(1, 2)).transpose(1, 2), G(v.transpose(1, 2)).transpose(1, 2)
w = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, dim=-1)
print((w @ v).shape)
