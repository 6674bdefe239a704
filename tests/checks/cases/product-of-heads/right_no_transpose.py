import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_model // num_heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.out_linear = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.size()
        Q = self.q_linear(x).view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        K = self.k_linear(x).view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        V = self.v_linear(x).view(B, L, self.num_heads, self.head_dim).transpose(1, 2)
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.head_dim)
        weights = F.softmax(scores, dim=-1)
        out = torch.matmul(weights, V)
        out = out.transpose(1, 2)
        return self.out_linear(out.reshape(B, L, D))


torch.manual_seed(260)
print(MultiHeadAttention(12, 3)(torch.randn(2, 5, 12)).shape)
