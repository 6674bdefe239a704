import torch
from torch import nn

# the query is the mean of all tokens: attention pooling
torch.manual_seed(5)
x = torch.randn(2, 6, 10)
q = nn.Linear(10, 10)(x.mean(dim=1, keepdim=True))
k, v = nn.Linear(10, 10)(x), nn.Linear(10, 10)(x)
print((torch.softmax(q @ k.transpose(1, 2) / 10**0.5, dim=-1) @ v).squeeze(1))
