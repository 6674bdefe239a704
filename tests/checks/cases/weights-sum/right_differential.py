"""Differential attention: two softmaxes, one taken from the other."""
import torch
import torch.nn as nn


class DiffAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(d, 2 * d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.lam = nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        q1, q2 = self.q(x).chunk(2, -1)
        k1, k2 = self.k(x).chunk(2, -1)
        s = self.d ** -0.5
        a1 = torch.softmax(q1 @ k1.mT * s, -1)
        a2 = torch.softmax(q2 @ k2.mT * s, -1)
        return (a1 - self.lam * a2) @ self.v(x)


torch.manual_seed(60)
print(DiffAttention(6)(torch.randn(2, 5, 6)).shape)
