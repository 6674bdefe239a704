import math

import torch
from torch import nn


class BertLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.dense = (nn.Linear(d, d) for _ in range(4))
        self.LayerNorm = nn.LayerNorm(d)
        self.inter, self.out = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.out_norm = nn.LayerNorm(d)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (f(x).view(b, l, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(d // self.h), dim=-1)
        y = self.dense((w @ v).transpose(1, 2).reshape(b, l, d))
        x = self.LayerNorm(y + x)
        y = self.out(nn.functional.gelu(self.inter(x)))
        return self.out_norm(y + x)


class Bert(nn.Module):
    def __init__(self, vocab, d, h, layers):
        super().__init__()
        self.word, self.pos, self.norm = nn.Embedding(vocab, d), nn.Embedding(16, d), nn.LayerNorm(d)
        self.layers = nn.ModuleList(BertLayer(d, h) for _ in range(layers))

    def forward(self, ids):
        x = self.norm(self.word(ids) + self.pos(torch.arange(ids.size(1))))
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
print(Bert(13, 12, 3, 2)(torch.randint(0, 13, (2, 5))).shape)
