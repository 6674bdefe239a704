import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, h, max_len=8):
        super().__init__()
        self.h = h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("bias", torch.full((max_len, max_len), float("-inf")).triu(1))

    def forward(self, x, pad):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        s = q @ k.transpose(-2, -1) / math.sqrt(d // self.h) + self.bias[:l, :l]
        s = s + torch.zeros(b, 1, 1, l).masked_fill(pad[:, None, None, :], -math.inf)
        w = torch.softmax(s, dim=-1)
        assert not torch.isnan(w).any()
        assert torch.isfinite(w @ v).all()
        return self.o((w @ v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
pad = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
print(Attention(12, 3)(torch.randn(2, 5, 12), pad).shape)
