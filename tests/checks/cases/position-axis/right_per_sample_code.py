import torch
from torch import nn

# each training shape owns a latent code (auto-decoder), added to all of its points
torch.manual_seed(9)
codes, points = nn.Embedding(4, 10), torch.randn(4, 7, 10)
index = torch.arange(4)
h = points + codes(index).unsqueeze(1)
to_q, to_k, to_v = nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, 10)
w = torch.softmax(to_q(h) @ to_k(h).mT / 10**0.5, dim=-1)
print((w @ to_v(h)).shape)
