import torch
import torch.nn.functional as F
from torch import nn


class ParallelBlock(nn.Module):
    """GPT-J and PaLM: attention and feed-forward read one norm, side by side."""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.ln = nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, l, d = x.shape
        x = self.ln(x)
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        a = self.o(a.transpose(1, 2).reshape(b, l, d))
        return x + a + self.down(F.gelu(self.up(x)))  # expect: ATT111


torch.manual_seed(0)
model = nn.Sequential(ParallelBlock(12, 3), ParallelBlock(12, 3), nn.LayerNorm(12))
print(model(torch.randn(2, 5, 12)).shape)
