import torch
import torch.nn.functional as F
from torch import nn


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if self.p == 0.0 or not self.training:
            return x
        keep = 1 - self.p
        mask = x.new_empty((x.shape[0], 1, 1)).bernoulli_(keep)
        return x * mask / keep


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.norm = nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.drop_path = DropPath(0.3)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 * self.training)
        return x + self.drop_path(self.proj(y.transpose(1, 2).reshape(b, n, d)))


torch.manual_seed(0)
block = Block(12, 3)
x = torch.randn(4, 5, 12)
print(block(x).mean().item())
print(block.eval()(x).mean().item())
