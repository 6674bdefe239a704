import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (f(x).view(b, l, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(d // self.h), dim=-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, l, d))


class DecoderLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = SelfAttention(d, h)
        self.fc, self.proj = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        residual = x
        x = self.ln_1(x)
        x = self.attn(x)
        x = x + residual

        x = self.ln_2(x)
        residual = x
        x = self.proj(F.relu(self.fc(x)))
        x = x + residual  # expect: ATT111
        return x


torch.manual_seed(0)
model = nn.Sequential(*[DecoderLayer(12, 3) for _ in range(2)])
print(model(torch.randn(2, 5, 12)).std())
