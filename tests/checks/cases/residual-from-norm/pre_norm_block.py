import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        x = self.norm1(x)
        x = x + self.attn(x, x, x, need_weights=False)[0]  # expect: ATT111
        return x + self.ffn(self.norm2(x))


torch.manual_seed(0)
block = Block(12, 3)
print(block(torch.randn(2, 5, 12)).shape)
