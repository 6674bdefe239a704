"""Self attention with einsum: b = batch, q/k = positions, d = features."""
import torch
import torch.nn as nn
from torch import einsum


class EinsumAttention(nn.Module):
    def __init__(self, dim, inner):
        super().__init__()
        self.scale = inner ** -0.5
        self.wq, self.wk, self.wv = (nn.Linear(dim, inner, bias=False) for _ in range(3))
        self.out = nn.Linear(inner, dim)

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        sim = einsum('bqd,bkd->bqk', q, k) * self.scale
        attn = sim.softmax(dim=-1)
        ctx = einsum('bqk,bkd->bqd', attn, v)
        return self.out(ctx)


torch.manual_seed(3)
model = EinsumAttention(dim=9, inner=5)
tokens = torch.randn(2, 7, 9)
result = model(tokens)
print(tuple(result.shape), f"{result.abs().sum():.4f}")
