import math

import torch
from torch import nn


class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.n_heads, -1).transpose(1, 2)

    def forward(self, x, cache=None):
        q, new_k, new_v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        k, v = new_k, new_v
        if cache is not None:
            k, v = torch.cat([cache[0], new_k], dim=2), torch.cat([cache[1], new_v], dim=2)
        n, m = q.size(2), k.size(2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        keep = torch.ones(n, m, dtype=torch.bool).tril(m - n)
        weights = scores.masked_fill(~keep, float("-inf")).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2)), (k, v)


torch.manual_seed(0)
attn = CachedSelfAttention(12, 3).eval()
x = torch.randn(2, 6, 12)
with torch.no_grad():
    y, cache = attn(x[:, :3])
    for t in range(3, 6):
        y, cache = attn(x[:, t : t + 1], cache)
print(y.shape, cache[0].shape)
