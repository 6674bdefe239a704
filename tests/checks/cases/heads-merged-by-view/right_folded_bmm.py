import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def fold(self, t):
        b, n, d = t.shape
        return t.view(b, n, self.h, self.dk).transpose(1, 2).reshape(b * self.h, n, self.dk)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.fold(self.wq(x)), self.fold(self.wk(x)), self.fold(self.wv(x))
        w = torch.softmax(torch.bmm(q, k.transpose(1, 2)) * self.dk ** -0.5, dim=2)
        y = torch.bmm(w, v)
        y = y.view(b, self.h, n, self.dk).transpose(1, 2).reshape(b, n, d)
        return self.wo(y)


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).std())
