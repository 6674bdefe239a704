import torch
import torch.nn as nn


class NeoXAttention(nn.Module):
    """Each head's query, key and value lie side by side, as in GPT-NeoX and BLOOM."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.head_size = heads, hidden // heads
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.dense = nn.Linear(hidden, hidden)

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.query_key_value(x).view(b, n, self.heads, 3 * self.head_size).transpose(1, 2)
        q, k, v = qkv.chunk(3, dim=-1)
        w = torch.softmax(q @ k.transpose(-1, -2) / self.head_size ** 0.5, dim=-1)
        return self.dense((w @ v).transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(0)
print(NeoXAttention(12, 3)(torch.randn(2, 5, 12)).shape)
