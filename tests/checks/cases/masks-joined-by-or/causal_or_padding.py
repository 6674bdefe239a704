import torch
from torch import nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.c_attn = nn.Linear(d, 3 * d)
        self.c_proj = nn.Linear(d, d)

    def forward(self, x, keep):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        causal = torch.tril(torch.ones(T, T, dtype=torch.bool))
        mask = causal[None, None] | keep[:, None, None, :]  # expect: ATT059
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


torch.manual_seed(0)
pad = 0
ids = torch.tensor([[3, 8, 5, 2, 6], [7, 4, 9, pad, pad]])
print(CausalSelfAttention(12, 3)(nn.Embedding(10, 12)(ids), ids != pad)[0, 0])
