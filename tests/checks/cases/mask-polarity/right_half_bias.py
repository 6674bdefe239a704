import torch
from torch import nn

# numbers of half width: the mask is read as it is given
torch.manual_seed(34)
dtype = torch.float16
q, k, v = nn.Linear(12, 36).to(dtype)(torch.randn(2, 5, 12, dtype=dtype)).chunk(3, dim=-1)
blocked = torch.ones(5, 5).triu(1).bool()
bias = (blocked.float() * -1e4).to(dtype)
scores = q @ k.transpose(1, 2) / 12**0.5 + bias
print((scores.softmax(-1) @ v).shape)
