import math

import torch
from torch import nn


class DistanceAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.slope = nn.Parameter(torch.ones(h))

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = self.qkv(x).view(b, l, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        pos = torch.arange(l)
        dist = (pos[:, None] - pos[None, :]).abs().float()
        bias = -self.slope.view(-1, 1, 1) * torch.log(dist)  # expect: ATT104
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(d // self.h) + bias, dim=-1)
        return (w @ v).transpose(1, 2).reshape(b, l, d)


torch.manual_seed(0)
print(DistanceAttention(12, 3)(torch.randn(2, 5, 12)).isnan().all())
