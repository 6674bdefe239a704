import math

import torch
from torch import nn


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dk = heads, dim // heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, self.heads, self.dk).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        inv_freq = 1.0 / (10000 ** (torch.arange(0, self.dk, 2).float() / self.dk))
        freqs = torch.outer(torch.arange(n).float(), inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        q = q * emb.cos() + rotate_half(q) * emb.sin()
        k = k * emb.cos() + rotate_half(k) * emb.sin()
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dk)
        scores = scores.masked_fill(torch.triu(torch.ones(n, n, dtype=torch.bool), 1), float("-inf"))
        return self.wo((scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
