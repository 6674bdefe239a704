import math

import torch
from torch import nn

# 位置编码: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d))


class PositionEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        pos = torch.arange(max_len, dtype=torch.float).unsqueeze(1)
        i = torch.arange(d_model, dtype=torch.float).unsqueeze(0)
        angles = pos / torch.pow(10000, i / d_model)  # expect: ATT092
        angles[:, 0::2] = torch.sin(angles[:, 0::2])
        angles[:, 1::2] = torch.cos(angles[:, 1::2])
        self.register_buffer("pe", angles)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        s = torch.einsum("bqd,bkd->bqk", self.q(x), self.k(x)) / math.sqrt(x.size(-1))
        return torch.einsum("bqk,bkd->bqd", s.softmax(-1), self.v(x))


torch.manual_seed(2)
net = nn.Sequential(PositionEncoding(12), Attention(12))
print("结果", net(torch.randn(2, 5, 12)).mean())
