import torch
import torch.nn.functional as F
from torch import nn

# coordinates with NeRF features: frequencies 2^k * pi
torch.manual_seed(5)
xyz = torch.rand(2, 6, 3)
freq = 2.0 ** torch.arange(4) * torch.pi
ang = (xyz[..., None] * freq).flatten(-2)
feat = torch.cat([xyz, ang.sin(), ang.cos()], dim=-1)
h = nn.Linear(27, 12)(feat)
q, k, v = nn.Linear(12, 12)(h), nn.Linear(12, 12)(h), nn.Linear(12, 12)(h)
w = F.softmax(q @ k.transpose(1, 2) / 12**0.5, -1)
print((w @ v).shape)
