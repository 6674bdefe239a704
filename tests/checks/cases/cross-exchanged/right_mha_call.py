import torch
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, tgt, memory):
        n = tgt.size(1)
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        tgt = self.norm1(tgt + self.self_attn(tgt, tgt, tgt, attn_mask=causal)[0])
        out, _ = self.cross_attn(tgt, memory, memory)
        return self.norm2(tgt + out)


torch.manual_seed(0)
dec = DecoderLayer(12, 3)
print(dec(torch.randn(2, 6, 12), torch.randn(2, 6, 12)).mean())
