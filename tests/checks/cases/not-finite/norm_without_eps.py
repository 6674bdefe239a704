import math

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g, self.b = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.g * ((x - mean) / std) + self.b  # expect: ATT104


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        return x + torch.softmax(q @ k.mT / math.sqrt(q.size(-1)), -1) @ v


torch.manual_seed(0)
x = torch.randn(2, 5, 12)
x[1, 3:] = 0  # 补齐的位置全为零
print(Layer(12)(x)[1])
