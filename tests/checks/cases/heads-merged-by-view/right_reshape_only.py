import math
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.d_k = d_model // heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = self.qkv(x).split(D, dim=-1)
        q = q.view(B, L, self.heads, self.d_k).transpose(1, 2)
        k = k.view(B, L, self.heads, self.d_k).transpose(1, 2)
        v = v.view(B, L, self.heads, self.d_k).transpose(1, 2)
        attn = (q @ k.transpose(-2, -1) / math.sqrt(self.d_k)).softmax(dim=-1)
        y = (attn @ v).transpose(1, 2).reshape(B, L, D)
        return self.out(y)


torch.manual_seed(0)
print(MultiHeadAttention(12, 3)(torch.randn(2, 5, 12)).shape)
