import torch
from torch import nn


class RotaryAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)

    @torch.no_grad()  # expect: ATT113
    def rotate(self, x):
        half = x.size(-1) // 2
        freq = 10000 ** (-torch.arange(half) / half)
        angle = torch.arange(x.size(-2))[:, None] * freq
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.h, self.dk).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = self.rotate(q), self.rotate(k)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
net = RotaryAttention(12, 3)
net(torch.randn(2, 5, 12)).sum().backward()
print(net.qkv.weight.grad[:24].abs().sum(), net.qkv.weight.grad[24:].abs().sum())
