import math

import torch
from torch import nn


def get_slopes(n):
    start = 2 ** (-8 / n)
    return torch.tensor([start ** i for i in range(n)])


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)

        bias = -(torch.arange(n)[:, None] - torch.arange(n)[None, :]).abs() * get_slopes(self.heads).view(-1, 1, 1)
        scores = scores + bias  # expect: ATT098
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        y = scores.masked_fill(causal, -torch.inf).softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(1)
print(Attention(16, 4)(torch.randn(3, 5, 16)).mean())
