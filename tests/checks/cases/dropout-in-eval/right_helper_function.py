import math

import torch
import torch.nn as nn


def attention(query, key, value, mask=None, dropout=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return p_attn @ value, p_attn


class Layer(nn.Module):
    def __init__(self, d, h, dropout=0.1):
        super().__init__()
        self.h = h
        self.dropout = nn.Dropout(dropout)
        self.lin = nn.ModuleList([nn.Linear(d, d) for _ in range(4)])

    def forward(self, x, mask=None):
        n = x.size(0)
        q, k, v = [l(x).view(n, -1, self.h, x.size(-1) // self.h).transpose(1, 2) for l in self.lin[:3]]
        y, self.attn = attention(q, k, v, mask, self.dropout)
        return self.lin[3](y.transpose(1, 2).contiguous().view(n, -1, x.size(-1)))


torch.manual_seed(0)
layer = Layer(12, 3)
layer.eval()
mask = torch.ones(2, 1, 1, 5)
mask[1, ..., 3:] = 0
print(layer(torch.randn(2, 5, 12), mask).shape, layer.attn.sum(-1)[0, 0])
