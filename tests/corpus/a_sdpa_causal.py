import torch
import torch.nn as nn
import torch.nn.functional as F


class FlashAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.h = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split(self, t):
        return t.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.split(t) for t in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
blk = FlashAttention(18, 3)
h = torch.randn(2, 7, 18)
print(blk(h).shape)

# plain, no mask, three tensors given directly
q = torch.randn(2, 3, 5, 8)
k = torch.randn(2, 3, 9, 8)
v = torch.randn(2, 3, 9, 4)
print(F.scaled_dot_product_attention(q, k, v).shape)
