import torch
import torch.nn as nn
import torch.nn.functional as F
class GQA(nn.Module):
    def __init__(self, d, h, g):
        super().__init__()
        self.h, self.g, self.dk = h, g, d // h
        self.q, self.k, self.v, self.o = nn.Linear(d, d), nn.Linear(d, g * self.dk), nn.Linear(d, g * self.dk), nn.Linear(d, d)
    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.h, self.dk)
        k = self.k(x).view(b, n, self.g, self.dk).repeat(1, 1, self.h // self.g, 1)  # expect: ATT044
        v = self.v(x).view(b, n, self.g, self.dk).repeat(1, 1, self.h // self.g, 1)  # expect: ATT044
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, n, d))
torch.manual_seed(0)
print(GQA(16, 4, 2)(torch.randn(2, 5, 16)).shape)
