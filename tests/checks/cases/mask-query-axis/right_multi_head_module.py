import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        B, L, _ = x.size()
        Q = self.W_q(x).view(B, L, self.num_heads, self.d_k).transpose(1, 2)
        K = self.W_k(x).view(B, L, self.num_heads, self.d_k).transpose(1, 2)
        V = self.W_v(x).view(B, L, self.num_heads, self.d_k).transpose(1, 2)
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = torch.softmax(scores, dim=-1)
        return self.W_o(torch.matmul(weights, V).transpose(1, 2).contiguous().view(B, L, -1))


def make_mask(ids, pad=0):
    return (ids != pad).unsqueeze(1).unsqueeze(2)


torch.manual_seed(1)
ids = torch.tensor([[3, 6, 2, 8, 4], [9, 1, 0, 0, 0]])
emb = nn.Embedding(10, 12)
print(MultiHeadAttention(12, 3)(emb(ids), make_mask(ids)).sum())
