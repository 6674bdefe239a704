import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
n, d = 7, 10
pos = torch.arange(n).float()[:, None]
i = torch.arange(d // 2).float()[None, :]
angle = pos / 10000 ** (2 * i / d)
pe = torch.cat([angle.sin(), angle.cos()], dim=1)
x = torch.randn(2, n, d) + pe
q, k, v = nn.Linear(d, d)(x), nn.Linear(d, d)(x), nn.Linear(d, d)(x)
print(F.scaled_dot_product_attention(q, k, v).shape)
