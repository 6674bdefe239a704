import math

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.gamma, self.beta, self.eps = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d)), eps

    def forward(self, x):
        mean = x.mean(dim=1, keepdim=True)  # expect: ATT112
        var = x.var(dim=1, keepdim=True, unbiased=False)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = LayerNorm(d)
        self.wq, self.wk, self.wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = self.wq(h), self.wk(h), self.wv(h)
        return x + torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), dim=-1) @ v


torch.manual_seed(42)
x = torch.randn(2, 4, 8)
print("输出形状:", Layer(8)(x).shape)
