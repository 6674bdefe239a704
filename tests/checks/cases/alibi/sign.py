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

        m = torch.tensor([2 ** (-8 * (h + 1) / self.heads) for h in range(self.heads)])
        pos = torch.arange(n)
        distance = pos[:, None] - pos[None, :]
        scores = scores + m[:, None, None] * distance  # expect: ATT098
        scores = scores.masked_fill(distance < 0, float("-inf"))
        y = scores.softmax(dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(Attention(16, 4)(torch.randn(2, 6, 16)).shape)
