import torch
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, memory):
        x = self.norm1(x + self.self_attn(x, x, x)[0])
        x = self.norm2(x + self.cross_attn(x, x, x)[0])  # expect: ATT039
        return x


torch.manual_seed(0)
layer = DecoderLayer(12, 3)
print(layer(torch.randn(2, 5, 12), torch.randn(2, 7, 12)).shape)
