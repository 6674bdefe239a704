import torch
import torch.nn as nn


class EncoderBlock(nn.Module):
    """pre-norm block around nn.MultiheadAttention; tensors are [L, B, D]"""

    def __init__(self, d, h):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.ln_2 = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def attention(self, x, pad):
        return self.attn(x, x, x, need_weights=False, key_padding_mask=pad)[0]

    def forward(self, x, pad=None):
        x = x + self.attention(self.ln_1(x), pad)
        x = x + self.mlp(self.ln_2(x))
        return x


torch.manual_seed(12)
L, B, D, H = 7, 3, 20, 5
layers = nn.ModuleList(EncoderBlock(D, H) for _ in range(4))
x = torch.randn(L, B, D)
pad = torch.zeros(B, L, dtype=torch.bool)
pad[1, 5:] = True
for layer in layers:
    x = layer(x, pad)
print(x.shape, f"{x.sum().item():.3f}")
