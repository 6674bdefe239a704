import torch
import torch.nn.functional as F
from torch import nn


def rope(x, start=0):
    n, d = x.shape[-2:]
    t = torch.arange(start, start + n).float()
    emb = torch.outer(t, 10000 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
    a, b = x.chunk(2, -1)
    return x * emb.cos() + torch.cat((-b, a), -1) * emb.sin()


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x, past=None):
        b, n, _ = x.shape
        q, k, v = (w(x).view(b, n, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        start = 0 if past is None else past[0].size(2)
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        past = (k, v)
        q, k = rope(q, start), rope(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=n > 1)
        return self.wo(y.transpose(1, 2).reshape(b, n, -1)), past


torch.manual_seed(3)
attn = Attention(12, 3)
x = torch.randn(2, 6, 12)
with torch.no_grad():
    y, past = attn(x[:, :4])
    y, past = attn(x[:, 4:5], past)
    y, past = attn(x[:, 5:6], past)
print(y.norm())
