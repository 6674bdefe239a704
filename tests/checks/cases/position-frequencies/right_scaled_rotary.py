import torch
import torch.nn.functional as F
from torch import nn


def inv_freqs(dim, base=500000.0, ntk=4.0):
    base = base * ntk ** (dim / (dim - 2))
    return base ** -(torch.arange(0, dim, 2, dtype=torch.float) / dim)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


torch.manual_seed(1)
B, L, H, d = 2, 5, 3, 8
x = torch.randn(B, L, H * d)
q, k, v = (nn.Linear(H * d, H * d, bias=False)(x).view(B, L, H, d).transpose(1, 2) for _ in range(3))
t = torch.arange(L) / 4.0  # position interpolation
emb = torch.outer(t, inv_freqs(d)).repeat(1, 2)
q, k = rotate(q, emb.cos(), emb.sin()), rotate(k, emb.cos(), emb.sin())
print(F.scaled_dot_product_attention(q, k, v, is_causal=True).norm())
