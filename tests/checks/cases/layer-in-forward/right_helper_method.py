import torch
import torch.nn as nn


class MultiHead(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.d, self.h = d, h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.norm = nn.LayerNorm(d)

    def attend(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = torch.softmax(q @ k.transpose(2, 3) / (self.d // self.h) ** 0.5, dim=-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, n, self.d))

    def add_norm(self, x, y):
        return self.norm(x + y)

    def forward(self, x):
        return self.add_norm(x, self.attend(x))


torch.manual_seed(0)
print(MultiHead(12, 3)(torch.randn(2, 5, 12)).shape)
