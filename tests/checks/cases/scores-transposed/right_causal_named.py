import math
import torch
import torch.nn as nn


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        B, T, C = x.shape
        q = self.q_proj(x).view(B, T, self.heads, -1).transpose(1, 2)
        k = self.k_proj(x).view(B, T, self.heads, -1).transpose(1, 2)
        v = self.v_proj(x).view(B, T, self.heads, -1).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        att = att.masked_fill(torch.triu(torch.ones(T, T, dtype=torch.bool), 1), float("-inf"))
        y = torch.softmax(att, dim=-1) @ v
        return self.o_proj(y.transpose(1, 2).reshape(B, T, C))


torch.manual_seed(213)
print(CausalSelfAttention(12, 3)(torch.randn(2, 5, 12)).shape)
