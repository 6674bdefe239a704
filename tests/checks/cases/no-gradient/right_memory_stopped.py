# Transformer-XL: the keys and values of the segment before take no gradient
import math

import torch
from torch import nn


class SegmentAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, memory=None):
        seen = x if memory is None else torch.cat([memory.detach(), x], dim=1)
        q, k, v = self.q(x), self.k(seen), self.v(seen)
        s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        lq, lk = s.shape[-2:]
        s = s.masked_fill(torch.ones(lq, lk, dtype=torch.bool).triu(1 + lk - lq), float("-inf"))
        return x + torch.softmax(s, dim=-1) @ v


torch.manual_seed(0)
net = SegmentAttention(12)
memory = None
for segment in torch.randn(2, 10, 12).split(5, dim=1):
    out = net(segment, memory)
    memory = out
    out.pow(2).mean().backward()
print(net.k.weight.grad.norm())
