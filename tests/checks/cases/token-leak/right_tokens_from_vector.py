import torch
from torch import nn

# one vector is expanded into four tokens
torch.manual_seed(9)
z = torch.randn(2, 10)
tokens = nn.Linear(10, 4 * 6)(z).view(2, 4, 6)
q, k, v = nn.Linear(6, 6)(tokens), nn.Linear(6, 6)(tokens), nn.Linear(6, 6)(tokens)
print((torch.softmax(q @ k.transpose(1, 2) / 6**0.5, dim=-1) @ v).shape)
