import math

import torch
from torch import nn

torch.manual_seed(5)
B, H, L, d = 2, 3, 5, 8


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).float() / dim))
    t = torch.arange(end)
    freqs = torch.outer(t, freqs).float()
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(x, freqs_cis):
    x_ = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x_ * freqs_cis).flatten(-2).type_as(x)


x = torch.randn(B, L, H * d)
wq, wk, wv = nn.Linear(H * d, H * d), nn.Linear(H * d, H * d), nn.Linear(H * d, H * d)
xq, xk, xv = (w(x).view(B, L, H, d).transpose(1, 2) for w in (wq, wk, wv))
freqs_cis = precompute_freqs_cis(d, 32)[:L]
xq, xk = apply_rotary_emb(xq, freqs_cis), apply_rotary_emb(xk, freqs_cis)
scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(d)
scores = scores + torch.full((L, L), float("-inf")).triu(1)
out = torch.softmax(scores, -1) @ xv
print(out.shape)
