import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        s = q @ k.transpose(-2, -1) / math.sqrt(d // self.h)
        p = torch.exp2(s - s.amax(-1, keepdim=True))  # expect: ATT105
        w = p / p.sum(-1, keepdim=True)
        return self.o((w @ v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).norm())
