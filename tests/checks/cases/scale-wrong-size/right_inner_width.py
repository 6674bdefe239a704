"""Heads wider than the model's share: dim_head is free."""
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.q = nn.Linear(dim, heads * dim_head, bias=False)
        self.kv = nn.Linear(dim, 2 * heads * dim_head, bias=False)
        self.o = nn.Linear(heads * dim_head, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in (self.q(x), *self.kv(x).chunk(2, -1)))
        return self.o(((q * self.scale) @ k.mT).softmax(-1).matmul(v).transpose(1, 2).flatten(2))


torch.manual_seed(147)
print(Attention(10, 3, 8)(torch.randn(2, 5, 10)).shape)
