import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Rotary in self attention, none in cross attention."""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv, self.q, self.kv = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 2 * d)

    def heads(self, t):
        return t.view(t.size(0), t.size(1), self.h, -1).transpose(1, 2)

    def rotate(self, t):
        n, d = t.shape[-2:]
        f = torch.outer(torch.arange(n), 10000 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
        a, b = t.chunk(2, -1)
        return t * f.cos() + torch.cat((-b, a), -1) * f.sin()

    def forward(self, x, m):
        q, k, v = map(self.heads, self.qkv(x).chunk(3, -1))
        x = x + F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True).transpose(1, 2).flatten(2)
        q, (k, v) = self.heads(self.q(x)), map(self.heads, self.kv(m).chunk(2, -1))
        return x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


torch.manual_seed(3)
print(Block(12, 3)(torch.randn(2, 5, 12), torch.randn(2, 7, 12)).shape)
