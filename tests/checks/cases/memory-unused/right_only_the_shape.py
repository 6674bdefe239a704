import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim)
        self.to_kv = nn.Linear(dim, dim * 2)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        b, n, d = x.shape
        m = context.shape[1]
        q = self.to_q(x)
        k, v = self.to_kv(context).chunk(2, dim=-1)
        q = q.view(b, n, self.heads, -1).transpose(1, 2)
        k, v = (t.view(b, m, self.heads, -1).transpose(1, 2) for t in (k, v))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(CrossAttention(12, 3)(torch.randn(2, 5, 12), torch.randn(2, 5, 12)).shape)
