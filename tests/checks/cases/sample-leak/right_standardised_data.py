import torch
from torch import nn

# data are standardised over the whole set before any model sees them
torch.manual_seed(5)
data = torch.randn(6, 5, 4) * 3 + 1
data = (data - data.mean(dim=(0, 1))) / data.std(dim=(0, 1))
x = nn.Linear(4, 12)(data)
q, k, v = nn.Linear(12, 12)(x), nn.Linear(12, 12)(x), nn.Linear(12, 12)(x)
a = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, dim=-1)
print((a @ v).shape)
