import torch
import torch.nn as nn


class EncoderLayer(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, heads, batch_first=True)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x):
        return self.norm(x + self.attn(x, x, x, need_weights=False)[0])


class Encoder(nn.Module):
    def __init__(self, d_model, heads, depth):
        super().__init__()
        layer = EncoderLayer(d_model, heads)
        self.layers = nn.ModuleList([layer] * depth)  # expect: ATT035

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
encoder = Encoder(12, 3, 4)
print(sum(p.numel() for p in encoder.parameters()))
print(encoder(torch.randn(2, 5, 12)).shape)
