import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe  # expect: ATT093


torch.manual_seed(0)
d_model = 12
x = torch.randn(2, 5, d_model)
x = PositionalEncoding(d_model)(x)
w_q, w_k, w_v = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
q, k, v = w_q(x), w_k(x), w_v(x)
scores = q @ k.transpose(-2, -1) / math.sqrt(d_model)
print((torch.softmax(scores, dim=-1) @ v).shape)
