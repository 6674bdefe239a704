import torch
import torch.nn as nn
import torch.nn.functional as F


class RelAttention(nn.Module):
    """Content and position biases per head, as u and v of Transformer-XL."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dk = heads, dim // heads
        self.q, self.kv, self.r = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 2 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.u = nn.Parameter(torch.randn(heads, 1, self.dk) * 0.1)
        self.w = nn.Parameter(torch.randn(heads, 1, self.dk) * 0.1)

    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.heads, self.dk).transpose(1, 2)
        k, v = self.kv(x).view(b, n, 2, self.heads, self.dk).permute(2, 0, 3, 1, 4)
        dist = torch.arange(n - 1, -n, -1.0)
        freq = 10000 ** (-torch.arange(0, d, 2) / d)
        r = torch.cat([(dist[:, None] * freq).sin(), (dist[:, None] * freq).cos()], -1)
        r = self.r(r).view(2 * n - 1, self.heads, self.dk).transpose(0, 1)
        ac = (q + self.u) @ k.transpose(-2, -1)
        bd = (q + self.w) @ r.transpose(-2, -1)
        bd = F.pad(bd, (1, 0)).view(b, self.heads, 2 * n, n)[:, :, 1:].reshape(b, self.heads, n, 2 * n - 1)[..., :n]
        att = F.softmax((ac + bd) / self.dk**0.5, dim=-1)
        return (att @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(10)
print(RelAttention(12, 3)(torch.randn(2, 5, 12)).sum())
