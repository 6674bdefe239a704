import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.ln1 = nn.LayerNorm(d_model)
        self.attn = nn.MultiheadAttention(d_model, n_head, batch_first=True)
        self.ln2 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        L = x.size(1)
        causal = torch.tril(torch.ones(L, L, dtype=torch.bool))
        h = self.ln1(x)
        h, _ = self.attn(h, h, h, attn_mask=~causal, need_weights=False)
        x = x + h
        return x + self.mlp(self.ln2(x))


torch.manual_seed(3)
block = Block(12, 3)
print(block(torch.randn(2, 5, 12))[0, -2])
