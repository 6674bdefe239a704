import math

import torch
from torch import nn


class AlibiHeads(nn.Module):
    def __init__(self, dim, heads, max_len=32):
        super().__init__()
        self.h, self.dk = heads, dim // heads
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        slopes = torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)])
        dist = torch.arange(max_len)[None, :] - torch.arange(max_len)[:, None]
        self.register_buffer("alibi", slopes[:, None, None] * dist)
        self.register_buffer("mask", torch.ones(max_len, max_len).tril() == 0)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, self.h, self.dk).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        scores = torch.matmul(q, k.transpose(-2, -1)) + self.alibi[:, :n, :n]  # expect: ATT098
        scores = scores / math.sqrt(self.dk)
        scores = scores.masked_fill(self.mask[:n, :n], float("-inf"))
        return torch.matmul(torch.softmax(scores, dim=-1), v).transpose(1, 2).flatten(2)


torch.manual_seed(5)
print(AlibiHeads(32, 2)(torch.randn(2, 6, 32)).shape)
