import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value):
        def split(t):
            return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = split(self.W_q(query)), split(self.W_k(key)), split(self.W_v(value))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        attn = F.softmax(scores, dim=-1)
        return self.W_o(torch.matmul(attn, v).transpose(1, 2).flatten(2))


torch.manual_seed(217)
mha = MultiHeadAttention(12, 3)
x, memory = torch.randn(2, 5, 12), torch.randn(2, 5, 12)
print(mha(x, memory, memory).shape)
