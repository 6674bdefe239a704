import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """QK-norm"""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.qn, self.kn = nn.LayerNorm(d // h), nn.LayerNorm(d // h)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = self.qkv(x).view(b, l, 3, self.h, d // self.h).unbind(2)
        q, k, v = (t.transpose(1, 2) for t in (self.qn(q), self.kn(k), v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
