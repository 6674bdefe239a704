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

        slopes = 2.0 ** (-8.0 / self.heads * torch.arange(1, self.heads + 1))
        rel = torch.arange(n) - torch.arange(n)[:, None]
        alibi = slopes.view(-1, 1, 1, 1) * rel
        scores = scores + alibi  # expect: ATT098
        scores = scores.masked_fill(rel > 0, float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(3)
print(Attention(16, 4)(torch.randn(4, 5, 16)).shape)
