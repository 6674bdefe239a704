import torch
import torch.nn as nn
import torch.nn.functional as F


class SharedQKAttention(nn.Module):
    """Queries and keys from one projection, as in Reformer; keys are made unit vectors."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qk = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        qk, v = self.to_qk(x), self.to_v(x)
        qk, v = (t.reshape(b, n, self.heads, -1).transpose(1, 2) for t in (qk, v))
        q, k = qk, F.normalize(qk, dim=-1)
        dots = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        out = dots.softmax(dim=-1) @ v
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(SharedQKAttention(12, 3)(torch.randn(2, 5, 12)).shape)
