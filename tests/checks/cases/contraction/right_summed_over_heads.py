import torch
import torch.nn as nn


class MultiHead(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = (f(x).view(B, L, self.h, self.d) for f in (self.q, self.k, self.v))
        s = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.d ** 0.5
        w = s.softmax(dim=-1)
        o = torch.einsum("bhqk,bkhd->bqhd", w, v)
        return self.o(o.reshape(B, L, D))


torch.manual_seed(250)
print(MultiHead(12, 3)(torch.randn(2, 5, 12)).shape)
