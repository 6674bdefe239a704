# LoRA: the base weights are frozen, the small ones are trained
import torch
import torch.nn.functional as F
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, d, r):
        super().__init__()
        self.base = nn.Linear(d, d)
        self.base.requires_grad_(False)
        self.a, self.b = nn.Linear(d, r, bias=False), nn.Linear(r, d, bias=False)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.v = LoRALinear(d, 2), LoRALinear(d, 2)
        self.k, self.o = nn.Linear(d, d), nn.Linear(d, d)
        for p in (*self.k.parameters(), *self.o.parameters()):
            p.requires_grad = False

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (f(x).view(b, l, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
net = Attention(12, 3)
net(torch.randn(2, 5, 12)).pow(2).mean().backward()
print([n for n, p in net.named_parameters() if p.grad is not None])
