import math

import torch
import torch.nn as nn


class PositionalEncoder(nn.Module):
    def __init__(self, d_model, max_seq_len=20):
        super().__init__()
        self.d_model = d_model
        pe = torch.zeros(max_seq_len, d_model)
        for pos in range(max_seq_len):
            for i in range(0, d_model, 2):
                pe[pos, i] = math.sin(pos / (10000 ** ((2 * i) / d_model)))  # expect: ATT092
                pe[pos, i + 1] = math.cos(pos / (10000 ** ((2 * (i + 1)) / d_model)))
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        x = x * math.sqrt(self.d_model)
        return x + self.pe[:, : x.size(1)]


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model):
        super().__init__()
        self.h, self.d_k = heads, d_model // heads
        self.q_linear, self.k_linear, self.v_linear = (nn.Linear(d_model, d_model) for _ in range(3))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        bs = x.size(0)
        q = self.q_linear(x).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        k = self.k_linear(x).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        v = self.v_linear(x).view(bs, -1, self.h, self.d_k).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        scores = torch.softmax(scores, dim=-1)
        return self.out(torch.matmul(scores, v).transpose(1, 2).contiguous().view(bs, -1, self.h * self.d_k))


torch.manual_seed(0)
x = nn.Embedding(11, 12)(torch.randint(0, 11, (2, 5)))
print(MultiHeadAttention(3, 12)(PositionalEncoder(12)(x)).shape)
