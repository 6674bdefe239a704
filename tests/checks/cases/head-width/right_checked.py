import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        if d % h:
            raise ValueError(f"{d} features cannot be shared among {h} heads")
        self.h = h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.h, -1)).permute(2, 0, 3, 1, 4)
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


torch.manual_seed(0)
print(Attention(12, 4)(torch.randn(2, 5, 12)).shape)
try:
    Attention(10, 4)
except ValueError as error:
    print(error)
