import math

import torch
from torch import nn


class FixedPosition(nn.Module):
    def __init__(self, n_max, d):
        super().__init__()
        pe = torch.zeros(n_max, d)
        position = torch.arange(0, n_max).unsqueeze(1).float()
        div_term = torch.exp(torch.arange(0, d, 2).float() * -(math.log(10000.0) / d))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.shape[1]].requires_grad_(False)


torch.manual_seed(8)
layer = nn.TransformerEncoderLayer(d_model=12, nhead=3, dim_feedforward=20, batch_first=True, dropout=0.0)
print(layer(FixedPosition(30, 12)(torch.randn(2, 5, 12))).shape)
