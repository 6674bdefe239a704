import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    """Self-attention, unless a context is given."""

    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, context=None):
        context = x if context is None else context
        return F.scaled_dot_product_attention(self.q(x), self.k(context), self.v(context))


torch.manual_seed(0)
attn = Attention(8)
x = torch.randn(2, 5, 8)
print(attn(x).shape)
