import math

import torch
import torch.nn.functional as F
from torch import nn


def apply_scaling(freqs, factor=8.0, low=1.0, high=4.0, old=32):
    new = []
    for freq in freqs:
        wavelen = 2 * math.pi / freq
        if wavelen < old / high:
            new.append(freq)
        elif wavelen > old / low:
            new.append(freq / factor)
        else:
            smooth = (old / wavelen - low) / (high - low)
            new.append((1 - smooth) * freq / factor + smooth * freq)
    return torch.stack(new)


def freqs_cis(dim, end, theta=10000.0):
    freqs = apply_scaling(1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim)))
    return torch.polar(torch.ones(end, dim // 2), torch.outer(torch.arange(end), freqs))


def rotary(x, f):
    x = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(x * f[:, None]).flatten(3)


torch.manual_seed(2)
x = torch.randn(2, 5, 24)
q, k, v = nn.Linear(24, 72)(x).view(2, 5, 3, 3, 8).unbind(2)
f = freqs_cis(8, 5)
q, k = rotary(q, f), rotary(k, f)
y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
print(y.shape)
