import torch
import torch.nn as nn
import torch.nn.functional as F
class LoRALinear(nn.Module):
    def __init__(self, d, r):
        super().__init__()
        self.base = nn.Linear(d, d)
        self.A = nn.Parameter(torch.randn(r, d) * 0.1)
        self.B = nn.Parameter(torch.zeros(d, r))
    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.A), self.B)
class Attn(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = LoRALinear(d, 2), LoRALinear(d, 2), LoRALinear(d, 2), nn.Linear(d, d)
    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
torch.manual_seed(0)
print(Attn(12, 3)(torch.randn(2, 5, 12)).shape)
