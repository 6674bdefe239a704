import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, d_k, d_v):
        super().__init__()
        self.d_k, self.d_v = d_k, d_v
        self.q, self.k, self.v = nn.Linear(dim, d_k), nn.Linear(dim, d_k), nn.Linear(dim, d_v)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        a = torch.bmm(q, k.transpose(1, 2)) / (self.d_v ** 0.5)  # expect: ATT012
        return torch.bmm(a.softmax(2), v)


torch.manual_seed(138)
print(Attention(11, 4, 7)(torch.randn(2, 5, 11)).shape)
