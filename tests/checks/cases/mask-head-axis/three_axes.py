import torch
from torch import nn


class DecoderAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        B, L, D = x.shape
        q, k, v = self.in_proj(x).view(B, L, 3, self.n_heads, D // self.n_heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (D // self.n_heads) ** 0.5
        scores = scores.masked_fill(~mask, -1e9)  # expect: ATT053
        out = scores.softmax(-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(B, L, D))


torch.manual_seed(0)
ids = torch.tensor([[3, 7, 2, 5, 8], [6, 4, 0, 0, 0]])
causal = torch.ones(5, 5, dtype=torch.bool).tril()
mask = causal & (ids != 0)[:, None, :]
print(DecoderAttention(12, 2)(nn.Embedding(9, 12)(ids), mask).shape)
