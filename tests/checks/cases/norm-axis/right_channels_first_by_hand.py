import math

import torch
from torch import nn


class ChannelNorm(nn.Module):
    """the mean over dim 1, which holds the channels here: (B, C, L)"""

    def __init__(self, c):
        super().__init__()
        self.g, self.b = nn.Parameter(torch.ones(1, c, 1)), nn.Parameter(torch.zeros(1, c, 1))

    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)
        var = x.var(dim=1, keepdim=True, unbiased=False)
        return self.g * (x - mean) / (var + 1e-5).sqrt() + self.b


class Attention1d(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = ChannelNorm(c)
        self.qkv, self.out = nn.Conv1d(c, 3 * c, 1), nn.Conv1d(c, c, 1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=1)
        w = torch.softmax(q.transpose(1, 2) @ k / math.sqrt(q.size(1)), dim=-1)
        return x + self.out(v @ w.transpose(1, 2))


torch.manual_seed(0)
print(Attention1d(12)(torch.randn(2, 12, 5)).shape)
