import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)

        dist = (torch.arange(n)[:, None] - torch.arange(n)[None, :]).abs()
        slopes = torch.logspace(1, self.heads, self.heads, base=2 ** (-8 / self.heads))
        scores = scores - slopes[:, None, None] * dist
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(1)
print(Attention(16, 4)(torch.randn(2, 5, 16)).shape)
