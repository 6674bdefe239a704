import torch
from torch import nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, mask):
        q, k, v = (f(x).unflatten(-1, (self.h, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(y.transpose(1, 2).flatten(2))


torch.manual_seed(1)
ids = torch.tensor([[4, 2, 7, 5, 3], [6, 8, 0, 0, 0]])
mask = (ids != 0)[:, None, None, :]
print(SelfAttention(12, 3)(nn.Embedding(10, 12)(ids), mask)[1, 0])
