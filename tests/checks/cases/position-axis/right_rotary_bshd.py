import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Rotates in [batch, seq, head, dim], before the heads come to the front."""

    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.d = n_heads, dim // n_heads
        self.wqkv, self.wo = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        freq = 1.0 / 10000 ** (torch.arange(0, self.d, 2) / self.d)
        ang = torch.outer(torch.arange(32), freq)
        self.register_buffer("cos", ang.cos())
        self.register_buffer("sin", ang.sin())

    def rotate(self, x):
        c, s = self.cos[: x.size(1), None, :], self.sin[: x.size(1), None, :]
        x1, x2 = x.float().chunk(2, dim=-1)
        return torch.cat((x1 * c - x2 * s, x2 * c + x1 * s), dim=-1).type_as(x)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.wqkv(x).view(b, n, 3, self.n_heads, self.d).unbind(2)
        q, k = self.rotate(q), self.rotate(k)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(4)
print(Attention(16, 4)(torch.randn(4, 4, 16)).shape)
