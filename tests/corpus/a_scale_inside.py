"""The scale as a factor of the product itself."""
import math

import torch

torch.manual_seed(28)
B, Lq, Lk, d, dv = 2, 4, 6, 9, 5
x, memory = torch.randn(B, Lq, d), torch.randn(B, Lk, d)
W = torch.randn(d, dv)
value = memory @ W


def with_baddbmm(q, k, v):
    buffer = torch.empty(q.size(0), q.size(1), k.size(1))
    raw = torch.baddbmm(buffer, q, k.transpose(-1, -2), beta=0, alpha=1 / math.sqrt(q.size(-1)))
    p = raw.softmax(dim=-1)
    return torch.bmm(p, v)


def with_einsum(q, k, v):
    factor = torch.tensor(q.size(-1) ** -0.5)
    raw = torch.einsum("bqd,bkd,->bqk", q, k, factor)
    p = raw.softmax(dim=-1)
    return torch.einsum("bqk,bkv->bqv", p, v)


a = with_baddbmm(x, memory, value)
b = with_einsum(x, memory, value)
print(a.shape, torch.allclose(a, b, atol=1e-6))
