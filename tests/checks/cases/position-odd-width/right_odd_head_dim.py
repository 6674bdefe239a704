import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        dim = heads * head_dim
        self.heads, self.head_dim = heads, head_dim
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        inv = 10000 ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        self.register_buffer("inv", inv)

    def rotate(self, x):
        n, d = x.shape[-2], x.shape[-1] // 2 * 2
        angle = torch.outer(torch.arange(n).float(), self.inv[: d // 2]).repeat(1, 2)
        x, rest = x[..., :d], x[..., d:]
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x * angle.cos() + torch.cat((-x2, x1), dim=-1) * angle.sin(), rest), dim=-1)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, self.heads, self.head_dim).transpose(1, 2) for w in (self.q, self.k, self.v))
        q, k = self.rotate(q), self.rotate(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(2)
print(Attention(3, 5)(torch.randn(2, 4, 15)).shape)
