import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.h = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split(self, t):
        B, L, _ = t.shape
        return t.view(B, L, self.h, self.d_k).transpose(1, 2)

    def forward(self, x):
        Q, K, V = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.d_k)
        weights = F.softmax(scores, dim=1)  # expect: ATT001
        context = torch.matmul(weights, V)
        B, _, L, _ = context.shape
        return self.W_o(context.transpose(1, 2).reshape(B, L, self.h * self.d_k))


torch.manual_seed(4)
mha = MultiHeadAttention(12, 3)
x = torch.randn(2, 5, 12)
print("output:", mha(x).shape)
