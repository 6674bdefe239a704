import torch
import torch.nn as nn
import torch.nn.functional as F


def repeat_kv(x, n_rep):
    b, n_kv, n, d = x.shape
    if n_rep == 1:
        return x
    return x[:, None].expand(b, n_rep, n_kv, n, d).reshape(b, n_kv * n_rep, n, d)  # expect: ATT044


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads):
        super().__init__()
        self.heads, self.kv_heads, self.d = heads, kv_heads, dim // heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, kv_heads * self.d)
        self.v_proj = nn.Linear(dim, kv_heads * self.d)
        self.o_proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, self.heads, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.kv_heads, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.kv_heads, self.d).transpose(1, 2)
        k, v = repeat_kv(k, self.heads // self.kv_heads), repeat_kv(v, self.heads // self.kv_heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
print(Attention(16, 4, 2)(torch.randn(2, 6, 16)).sum())
