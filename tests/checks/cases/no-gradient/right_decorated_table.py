import torch
from torch import nn


class RotaryAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)

    @torch.no_grad()
    def table(self, l):
        half = self.dk // 2
        freq = 10000 ** (-torch.arange(half) / half)
        angle = torch.arange(l)[:, None] * freq
        return angle.cos(), angle.sin()

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.h, self.dk).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        cos, sin = self.table(l)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
net = RotaryAttention(12, 3)
net(torch.randn(2, 5, 12)).sum().backward()
print(net.qkv.weight.grad[:24].abs().sum(), net.qkv.weight.grad[24:].abs().sum())
