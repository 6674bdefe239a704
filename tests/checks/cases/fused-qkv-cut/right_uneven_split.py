import torch
import torch.nn as nn
import torch.nn.functional as F


class ParallelBlock(nn.Module):
    """One fused layer for the queries, one key head, one value head and the feed-forward (PaLM)."""

    def __init__(self, d, h, ff):
        super().__init__()
        self.h, self.dk = h, d // h
        self.sizes = (d, self.dk, self.dk, ff)
        self.fused = nn.Linear(d, sum(self.sizes))
        self.out, self.down = nn.Linear(d, d), nn.Linear(ff, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v, f = self.fused(x).split(self.sizes, dim=-1)
        q = q.view(b, n, self.h, self.dk).transpose(1, 2)
        k, v = k.unsqueeze(1), v.unsqueeze(1)
        w = torch.softmax(q @ k.transpose(-2, -1) / self.dk ** 0.5, dim=-1)
        y = (w @ v).transpose(1, 2).reshape(b, n, d)
        return x + self.out(y) + self.down(F.silu(f))


torch.manual_seed(0)
print(ParallelBlock(12, 3, 20)(torch.randn(2, 5, 12)).shape)
