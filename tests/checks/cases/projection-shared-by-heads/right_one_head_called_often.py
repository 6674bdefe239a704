import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, d, dk):
        super().__init__()
        self.q = nn.Linear(d, dk, bias=False)
        self.k = nn.Linear(d, dk, bias=False)
        self.v = nn.Linear(d, dk, bias=False)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        att = torch.softmax(q @ k.transpose(1, 2) * k.shape[-1] ** -0.5, dim=-1)
        return att @ v


class MultiHeadAttention(nn.Module):
    def __init__(self, d, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.heads = nn.ModuleList(Head(d, d // n_heads) for _ in range(n_heads))
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        out = torch.cat([head(x) for head in self.heads], dim=-1)
        return self.proj(out)


torch.manual_seed(0)
print(MultiHeadAttention(8, 2)(torch.randn(2, 4, 8)).shape)
