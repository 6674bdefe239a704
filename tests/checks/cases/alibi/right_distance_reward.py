import torch
import torch.nn.functional as F
from torch import nn

# spatial bias from data: points that lie apart attend less (a learned gain on measured distances)
torch.manual_seed(4)
pts, x = torch.randn(2, 5, 3), torch.randn(2, 5, 12)
gain = nn.Parameter(torch.tensor(0.5))
q, k, v = nn.Linear(12, 12)(x), nn.Linear(12, 12)(x), nn.Linear(12, 12)(x)
s = q @ k.transpose(1, 2) / 12**0.5 - gain * torch.cdist(pts, pts)
print((F.softmax(s, -1) @ v).shape)
