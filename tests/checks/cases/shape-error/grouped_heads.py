import torch
import torch.nn as nn


class GQA(nn.Module):
    def __init__(self, d, n_heads, n_kv):
        super().__init__()
        self.h, self.kv, self.dk = n_heads, n_kv, d // n_heads
        self.q, self.o = nn.Linear(d, d), nn.Linear(d, d)
        self.k, self.v = nn.Linear(d, n_kv * self.dk), nn.Linear(d, n_kv * self.dk)

    def forward(self, x):
        b, l, d = x.shape
        q = self.q(x).view(b, l, self.h, self.dk).transpose(1, 2)
        k = self.k(x).view(b, l, self.kv, self.dk).transpose(1, 2)
        v = self.v(x).view(b, l, self.kv, self.dk).transpose(1, 2)
        w = torch.softmax(q @ k.transpose(-2, -1) / self.dk**0.5, dim=-1)  # expect: ATT121
        return self.o((w @ v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
print(GQA(24, 6, 2)(torch.randn(2, 5, 24)).shape)
