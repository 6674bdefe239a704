import torch
import torch.nn as nn


class GQA(nn.Module):
    """Nothing is repeated: the queries get an axis for the group."""

    def __init__(self, d, heads, groups):
        super().__init__()
        self.h, self.g, self.dk = heads, groups, d // heads
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, groups * self.dk), nn.Linear(d, groups * self.dk)
        self.o = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.g, self.h // self.g, self.dk)
        k, v = self.k(x).view(b, n, self.g, self.dk), self.v(x).view(b, n, self.g, self.dk)
        s = torch.einsum("bigrd,bjgd->bgrij", q, k) / self.dk ** 0.5
        y = torch.einsum("bgrij,bjgd->bigrd", s.softmax(-1), v)
        return self.o(y.reshape(b, n, d))


torch.manual_seed(0)
print(GQA(24, 6, 2)(torch.randn(2, 5, 24)).shape)
