import torch
from torch import nn


class TiedKV(nn.Module):
    def __init__(self, dim, heads=3):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim)
        self.to_kv = nn.Linear(dim, dim)  # keys and values are one tensor by design
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q = self.to_q(x).view(b, n, self.heads, c // self.heads).transpose(1, 2)
        kv = self.to_kv(x).view(b, n, self.heads, c // self.heads).transpose(1, 2)
        att = (q @ kv.transpose(-2, -1) / (c // self.heads) ** 0.5).softmax(-1)
        return self.proj((att @ kv).transpose(1, 2).reshape(b, n, c))


torch.manual_seed(0)
print(TiedKV(12)(torch.randn(2, 5, 12)).norm())
