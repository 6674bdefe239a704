import torch
from torch import nn


class DecoderLayer(nn.Module):
    """pre-norm, with cross attention"""

    def __init__(self, d, h):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.n1, self.n2, self.n3 = (nn.LayerNorm(d) for _ in range(3))
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, x, memory):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        h = self.n1(x)
        x = x + self.self_attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        h = self.n2(x)
        x = x + self.cross_attn(h, memory, memory, need_weights=False)[0]
        return x + self.ff(self.n3(x))


torch.manual_seed(0)
memory = nn.LayerNorm(12)(torch.randn(2, 7, 12))
print(DecoderLayer(12, 3)(torch.randn(2, 5, 12), memory).shape)
