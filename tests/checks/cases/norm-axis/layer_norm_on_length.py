import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, seq_len, d, h):
        super().__init__()
        self.norm = nn.LayerNorm([seq_len, d])
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)

    def forward(self, x):
        h = self.norm(x)  # expect: ATT112
        return x + self.attn(h, h, h, need_weights=False)[0]


torch.manual_seed(0)
print(Block(5, 12, 3)(torch.randn(2, 5, 12)).shape)
