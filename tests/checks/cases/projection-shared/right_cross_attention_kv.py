import math
import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    """Decoder states ask, encoder states answer."""

    def __init__(self, dim, ctx_dim):
        super().__init__()
        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Linear(ctx_dim, dim)
        self.to_v = nn.Linear(ctx_dim, dim)

    def forward(self, x, context):
        q = self.to_q(x)
        k = self.to_k(context)
        v = self.to_v(context)
        att = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        att = att.softmax(dim=2)
        return torch.bmm(att, v)


torch.manual_seed(7)
layer = CrossAttention(10, 14)
tgt, mem = torch.randn(3, 4, 10), torch.randn(3, 6, 14)
print(layer(tgt, mem).mean())
