import torch
from torch import nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.q, self.kv, self.o = heads, nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x, memory):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.heads, -1).transpose(1, 2)
        k, v = self.kv(memory).view(b, -1, 2, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(5)
print(CrossAttention(12, 3)(torch.randn(2, 5, 12), torch.randn(2, 7, 12)).shape)
