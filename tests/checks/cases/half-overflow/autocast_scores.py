import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.matmul(q, k.transpose(1, 2))  # expect: ATT103
        return torch.softmax(scores / math.sqrt(k.size(-1)), dim=-1) @ v


torch.manual_seed(0)
net = Attention(48)
x = torch.randn(2, 6, 48) * 300
with torch.autocast("cpu", dtype=torch.float16):
    y = net(x)
print("有 NaN 吗:", y.isnan().any().item())
