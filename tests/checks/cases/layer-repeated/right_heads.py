import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, d, dk):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, dk), nn.Linear(d, dk), nn.Linear(d, dk)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        w = torch.softmax(q @ k.transpose(-2, -1) / k.size(-1) ** 0.5, dim=-1)
        return w @ v


class MultiHead(nn.Module):
    def __init__(self, d, n_heads):
        super().__init__()
        self.heads = nn.ModuleList([Head(d, d // n_heads) for _ in range(n_heads)])
        self.out = nn.Linear(d, d)

    def forward(self, x):
        return self.out(torch.cat([h(x) for h in self.heads], dim=-1))


torch.manual_seed(0)
print(MultiHead(12, 3)(torch.randn(2, 5, 12)).shape)
