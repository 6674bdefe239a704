import math
import torch
from torch import nn


class Rope(nn.Module):
    def __init__(self, d, max_len=64):
        super().__init__()
        ang = torch.outer(torch.arange(max_len), 10000 ** (-torch.arange(0, d, 2) / d))
        self.register_buffer("cos", ang.cos().repeat(1, 2))
        self.register_buffer("sin", ang.sin().repeat(1, 2))

    def forward(self, x):
        n, h = x.size(-2), x.size(-1) // 2
        turned = torch.cat([x[..., h:], x[..., :h]], dim=-1)
        return x * self.cos[:n] + turned * self.sin[:n]  # expect: ATT095


class Head(nn.Module):
    def __init__(self, d_in, d):
        super().__init__()
        self.q, self.k, self.v, self.rope = nn.Linear(d_in, d), nn.Linear(d_in, d), nn.Linear(d_in, d), Rope(d)

    def forward(self, x):
        q, k = self.rope(self.q(x)), self.rope(self.k(x))
        s = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(q.size(-1))
        return torch.einsum("bij,bjd->bid", s.softmax(-1), self.v(x))


torch.manual_seed(2)
print(Head(12, 6)(torch.randn(2, 5, 12)).std())
