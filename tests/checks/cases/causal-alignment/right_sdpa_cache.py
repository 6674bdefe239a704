import torch
from torch import nn
import torch.nn.functional as F


class CachedAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x, cache=None):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        mask = torch.ones(n, k.size(2), dtype=torch.bool).tril(diagonal=k.size(2) - n)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(b, n, d)), (k, v)


torch.manual_seed(0)
layer = CachedAttention(12, 3)
x = torch.randn(2, 6, 12)
first, cache = layer(x[:, :3])
second, cache = layer(x[:, 3:], cache)
print(second[0])
