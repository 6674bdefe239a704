import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = self.qkv(x).view(b, l, 3, self.h, d // self.h).unbind(2)
        s = torch.einsum("bqhd,bhkd->bhqk", q, k) / (d // self.h) ** 0.5  # expect: ATT121
        return torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v).flatten(2)


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
