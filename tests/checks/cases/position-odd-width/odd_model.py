import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)  # expect: ATT094
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


torch.manual_seed(0)
x = PositionalEncoding(7)(torch.randn(2, 5, 7))
q, k, v = nn.Linear(7, 7)(x), nn.Linear(7, 7)(x), nn.Linear(7, 7)(x)
print((torch.softmax(q @ k.transpose(1, 2) / math.sqrt(7), -1) @ v).shape)
