import math
import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(num_heads * self.d_k, d_model)

    def forward(self, x):
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        heads = []
        for i in range(self.num_heads):
            s = slice(i * self.d_k, (i + 1) * self.d_k)
            scores = Q[..., s] @ K[..., s].transpose(-2, -1) / math.sqrt(self.d_k)
            heads.append(torch.softmax(scores, dim=-1) @ V[..., s])
        return self.W_o(torch.cat(heads, dim=-1))


torch.manual_seed(0)
mha = MultiHeadAttention(12, 3)
print(mha(torch.randn(2, 5, mha.W_q.in_features)).shape)
