import math

import torch
from torch import nn


class RandomFeatureAttention(nn.Module):
    """softmax attention by positive random features (FAVOR+), linear in the length"""

    def __init__(self, d, m=16):
        super().__init__()
        self.m = m
        self.qkv = nn.Linear(d, 3 * d)
        self.register_buffer("w", torch.randn(d, m))

    def redraw(self):
        self.w.copy_(torch.randn_like(self.w))

    def features(self, x, w):
        x = x / x.size(-1) ** 0.25
        return torch.exp(x @ w - x.pow(2).sum(-1, keepdim=True) / 2) / math.sqrt(self.m)

    def forward(self, x):
        if self.training:
            self.redraw()
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k = self.features(q, self.w), self.features(k, self.w)
        top = q @ (k.transpose(1, 2) @ v)
        return top / (q @ k.sum(1).unsqueeze(-1))


torch.manual_seed(0)
net = RandomFeatureAttention(12)
x = torch.randn(2, 5, 12)
print(net(x).shape)
net.eval()
print(net(x).mean(), net(x).mean())
