import torch
import torch.nn as nn


class EncoderBlock(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.d, self.heads = d, heads
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        attn = nn.MultiheadAttention(self.d, self.heads, batch_first=True)  # expect: ATT036
        h = self.norm1(x)
        x = x + attn(h, h, h, need_weights=False)[0]
        return x + self.ff(self.norm2(x))


torch.manual_seed(0)
print(EncoderBlock(8, 2)(torch.randn(2, 5, 8)).shape)
