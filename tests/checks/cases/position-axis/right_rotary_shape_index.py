import math

import torch
from torch import nn

# 旋转位置编码 + 因果自注意力


def rope_cache(n, d):
    theta = 1.0 / 10000 ** (torch.arange(0, d, 2) / d)
    angle = torch.arange(n)[:, None] * theta[None, :]
    return angle.cos(), angle.sin()


def apply_rope(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


class CausalAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.h = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = (w(x).view(B, L, self.h, D // self.h).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        cos, sin = rope_cache(q.shape[2], D // self.h)
        q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)
        scores = q @ k.transpose(-2, -1) / math.sqrt(D // self.h)
        mask = torch.ones(L, L, dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, L, D))


torch.manual_seed(3)
layer = CausalAttention(18, 3)
with torch.no_grad():
    print("输出:", layer(torch.randn(2, 5, 18)).shape)
