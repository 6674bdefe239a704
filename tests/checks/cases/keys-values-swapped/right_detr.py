import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)

    def forward(self, queries, memory, pos):
        out, _ = self.attn(query=queries, key=memory + pos, value=memory)
        return queries + out


torch.manual_seed(0)
object_queries = nn.Parameter(torch.randn(1, 4, 12))
memory = torch.randn(2, 9, 12)
print(CrossAttention(12, 3)(object_queries.expand(2, -1, -1), memory, torch.randn(1, 9, 12)).shape)
