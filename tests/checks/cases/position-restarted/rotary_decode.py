import torch
import torch.nn.functional as F
from torch import nn


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class CachedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.k_cache = self.v_cache = None

    def rope(self, x, offset):
        n, d = x.shape[-2:]
        t = torch.arange(offset, offset + n).float()
        emb = torch.outer(t, 1.0 / 10000 ** (torch.arange(0, d, 2).float() / d)).repeat(1, 2)
        return x * emb.cos() + rotate_half(x) * emb.sin()  # expect: ATT097

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        offset = 0 if self.k_cache is None else self.k_cache.size(2)
        q, k = self.rope(q, 0), self.rope(k, 0)
        if self.k_cache is not None:
            k, v = torch.cat((self.k_cache, k), 2), torch.cat((self.v_cache, v), 2)
        self.k_cache, self.v_cache = k, v
        y = F.scaled_dot_product_attention(q, k, v, is_causal=n > 1)
        return self.wo(y.transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(1)
attn = CachedAttention(24, 3).eval()
x = torch.randn(2, 6, 24)
with torch.no_grad():
    out = [attn(x[:, :4]), attn(x[:, 4:5]), attn(x[:, 5:6])]
print(torch.cat(out, dim=1).shape)
