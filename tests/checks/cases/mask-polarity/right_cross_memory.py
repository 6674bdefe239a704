import torch
from torch import nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h = heads
        self.to_q = nn.Linear(dim, dim)
        self.to_kv = nn.Linear(dim, 2 * dim)

    def forward(self, x, memory, memory_pad):
        q = self.to_q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in self.to_kv(memory).chunk(2, -1))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=~memory_pad[:, None, None])
        return out.transpose(1, 2).flatten(2)


torch.manual_seed(12)
memory_ids = torch.tensor([[3, 5, 2, 7, 1, 8, 9], [4, 6, 2, 0, 0, 0, 0]])
memory = nn.Embedding(10, 12)(memory_ids)
print(CrossAttention(12, 3)(torch.randn(2, 4, 12), memory, memory_ids == 0).shape)
