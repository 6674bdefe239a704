import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.h, self.d_k = n_heads, d_model // n_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x):
        B, L, D = x.shape
        q = self.W_q(x).view(B, L, self.h, self.d_k).permute(0, 2, 1, 3).reshape(B * self.h, L, self.d_k)
        k = self.W_k(x).view(B, L, self.h, self.d_k).permute(2, 0, 1, 3).reshape(B * self.h, L, self.d_k)
        v = self.W_v(x).view(B, L, self.h, self.d_k).permute(0, 2, 1, 3).reshape(B * self.h, L, self.d_k)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.d_k)  # expect: ATT081
        out = torch.bmm(scores.softmax(dim=-1), v)
        return self.W_o(out.view(B, self.h, L, self.d_k).transpose(1, 2).reshape(B, L, D))


torch.manual_seed(0)
print(MultiHeadAttention(12, 3)(torch.randn(2, 5, 12)).shape)
