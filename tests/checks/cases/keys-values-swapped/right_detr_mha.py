import torch
from torch import nn


class DetrDecoderLayer(nn.Module):
    """Object queries read the image; positions belong to what is compared, not to what is read."""

    def __init__(self, d, h):
        super().__init__()
        self.cross = nn.MultiheadAttention(d, h, dropout=0.0)
        self.norm = nn.LayerNorm(d)

    def forward(self, tgt, memory, pos, query_pos):
        key = memory + pos
        value = memory
        hidden = self.cross(tgt + query_pos, key, value)[0]
        return self.norm(tgt + hidden)


torch.manual_seed(4)
layer = DetrDecoderLayer(8, 2)
y = layer(torch.zeros(3, 2, 8), torch.randn(10, 2, 8), torch.randn(10, 1, 8), torch.randn(3, 1, 8))
print(y.shape)
