import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        parts = zip(q.chunk(self.heads, -1), k.chunk(self.heads, -1), v.chunk(self.heads, -1))
        y = torch.cat([F.scaled_dot_product_attention(a, b, c) for a, b, c in parts], dim=-1)
        return self.out(y)


torch.manual_seed(0)
width = 12
print(Attention(width, 4)(torch.randn(2, 5, width)).shape)
