import torch
from torch import nn


class RotaryAttention(nn.Module):
    def __init__(self, dim, heads, max_seq=32):
        super().__init__()
        self.heads, self.hd = heads, dim // heads
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        inv = 1.0 / (10000 ** (torch.arange(0, self.hd, 2).float() / self.hd))
        emb = torch.outer(torch.arange(max_seq).float(), inv).repeat(1, 2)
        self.register_buffer("cos", emb.cos())
        self.register_buffer("sin", emb.sin())

    @staticmethod
    def rotate(x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-b, a], dim=-1) * sin

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.heads, self.hd).transpose(1, 2) for f in (self.q, self.k, self.v))
        cos, sin = self.cos[:n], self.sin[:n]
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        w = torch.softmax(q @ k.transpose(-2, -1) * self.hd**-0.5, dim=-1)
        return (w @ v).transpose(1, 2).reshape(b, n, -1)


torch.manual_seed(4)
print(RotaryAttention(12, 3)(torch.randn(2, 5, 12)).shape)
