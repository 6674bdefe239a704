import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)

    def rotary(self, x):
        n, d = x.shape[-2:]
        freq = 1.0 / 10000 ** (torch.arange(0, d, 2) / d)
        t = torch.outer(torch.arange(n), freq).repeat(1, 2)
        a, b = x.chunk(2, -1)
        return x * t.cos() + torch.cat((-b, a), -1) * t.sin()

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = self.rotary(self.split(q)), self.rotary(self.split(k)), self.split(v)
        w = F.softmax(q @ k.mT / q.size(-1) ** 0.5, dim=-1)
        return self.out((w @ v).transpose(1, 2).flatten(2))


torch.manual_seed(4)
print(Attention(16, 2)(torch.randn(2, 5, 16)).shape)
