import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.norm = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(b, t, c))


def clones(module, N):
    return nn.ModuleList([module for _ in range(N)])  # expect: ATT035


class Model(nn.Module):
    def __init__(self, d, h, n):
        super().__init__()
        self.blocks = clones(Block(d, h), n)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


torch.manual_seed(0)
print(Model(8, 2, 3)(torch.randn(2, 5, 8)).sum())
