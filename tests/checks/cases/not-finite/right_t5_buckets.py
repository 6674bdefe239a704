import math

import torch
from torch import nn


def bucket(relative_position, num_buckets=8, max_distance=16):
    half = num_buckets // 2
    ret = (relative_position > 0).long() * half
    n = relative_position.abs()
    exact = half // 2
    large = exact + (torch.log(n.float() / exact) / math.log(max_distance / exact) * (half - exact)).long()
    large = torch.minimum(large, torch.full_like(large, half - 1))
    return ret + torch.where(n < exact, n, large)


class T5Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.rel = nn.Embedding(8, h)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (f(x).view(b, l, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        pos = torch.arange(l)
        bias = self.rel(bucket(pos[None, :] - pos[:, None])).permute(2, 0, 1)
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(d // self.h) + bias, dim=-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
print(T5Attention(12, 3)(torch.randn(2, 7, 12)).shape)
