import math
import torch
from torch import nn


def rotate_every_two(x):
    x1 = x[:, :, :, ::2]
    x2 = x[:, :, :, 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return x.flatten(-2)


def sinusoidal(n, d):
    inv_freq = 1.0 / (10000 ** (torch.arange(0, d, 2) / d))
    sinusoid = torch.einsum("i,j->ij", torch.arange(n, dtype=torch.float), inv_freq).float()
    return torch.sin(sinusoid), torch.cos(sinusoid)


def apply_rotary(x, sincos):
    sin, cos = (t.repeat_interleave(2, dim=1)[None, None] for t in sincos)
    return x * cos + rotate_every_two(x) * sin


torch.manual_seed(1)
B, H, L, d = 2, 3, 5, 4
hidden = torch.randn(B, L, H * d)
q, k, v = (nn.Linear(H * d, H * d)(hidden).view(B, L, H, d).permute(0, 2, 1, 3) for _ in range(3))
sincos = sinusoidal(L, d)
q, k = apply_rotary(q, sincos), apply_rotary(k, sincos)
attn = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(d), dim=-1)
print(torch.matmul(attn, v).shape)
