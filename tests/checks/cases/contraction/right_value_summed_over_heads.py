import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = self.qkv(x).view(B, L, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
        w = (torch.einsum("bhqd,bhkd->bhqk", q, k) / self.d ** 0.5).softmax(-1)
        o = torch.einsum("bhqk,bhkd->bhqd", w, v)
        return o.transpose(1, 2).reshape(B, L, D)


torch.manual_seed(256)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
