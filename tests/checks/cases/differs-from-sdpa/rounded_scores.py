import torch
from torch import nn


class Attention(nn.Module):
    """int8-like scores"""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (f(x).view(b, l, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = torch.matmul(q, k.transpose(2, 3)) * (d // self.h) ** -0.5
        s = torch.round(s)  # expect: ATT105
        w = s.softmax(dim=-1)
        return torch.matmul(w, v).transpose(1, 2).reshape(b, l, d)


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).abs().mean())
