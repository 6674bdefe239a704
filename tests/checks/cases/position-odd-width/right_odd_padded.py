import math
import torch
import torch.nn.functional as F
from torch import nn


def timing_signal(n, d):
    half = d // 2
    rate = torch.exp(-math.log(10000.0) * torch.arange(half) / max(half - 1, 1))
    angle = torch.arange(n)[:, None] * rate
    return F.pad(torch.cat([angle.sin(), angle.cos()], 1), (0, d % 2))


torch.manual_seed(4)
x = torch.randn(2, 5, 9) + timing_signal(5, 9)
q, k, v = nn.Linear(9, 9)(x), nn.Linear(9, 9)(x), nn.Linear(9, 9)(x)
print(F.scaled_dot_product_attention(q, k, v).shape)
