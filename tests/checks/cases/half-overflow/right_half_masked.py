import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x, pad):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        s = q @ k.transpose(-2, -1) / math.sqrt(d // self.h)
        future = torch.ones(l, l, dtype=torch.bool).triu(1)
        s = s.masked_fill(future, float("-inf"))
        s = s.masked_fill(pad[:, None, None, :], torch.finfo(s.dtype).min)
        w = torch.softmax(s, dim=-1, dtype=torch.float32).to(v.dtype)
        return self.o((w @ v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
attn = Attention(12, 3).half().eval()
pad = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
print(attn(torch.randn(2, 5, 12).half(), pad).isfinite().all())
