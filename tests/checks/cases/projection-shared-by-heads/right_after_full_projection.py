import torch
import torch.nn as nn


class Attention(nn.Module):
    """A full projection first; then a small turn of the features that all heads have in common."""

    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.register_buffer("turn", torch.linalg.qr(torch.randn(self.dk, self.dk))[0])

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.h, self.dk).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = q @ self.turn, k @ self.turn
        w = (q @ k.transpose(-2, -1) / self.dk ** 0.5).softmax(-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
