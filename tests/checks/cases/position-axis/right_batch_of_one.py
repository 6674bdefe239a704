import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.transpose(0, 1))

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


torch.manual_seed(3)
x = PositionalEncoding(12, 9)(torch.randn(1, 5, 12))
attn = nn.MultiheadAttention(12, 3, batch_first=True)
out, weights = attn(x, x, x)
print(out.mean(), weights.shape)
