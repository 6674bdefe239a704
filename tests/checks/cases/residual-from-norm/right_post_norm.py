import torch
from torch import nn


class EncoderLayer(nn.Module):
    """The order of "Attention Is All You Need": norm after the sum."""

    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, dropout=0.1, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = self.norm1(x + self.attn(x, x, x)[0])
        return self.norm2(x + self.ff(x))


torch.manual_seed(0)
model = nn.Sequential(EncoderLayer(12, 3), EncoderLayer(12, 3))
print(model(torch.randn(2, 5, 12)).shape)
