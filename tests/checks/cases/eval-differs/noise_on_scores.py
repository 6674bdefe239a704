import math

import torch
from torch import nn


class NoisyAttention(nn.Module):
    def __init__(self, d, std=0.1):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.std = std

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        scores = scores + self.std * torch.randn_like(scores)  # expect: ATT102
        return torch.softmax(scores, dim=-1) @ v


torch.manual_seed(0)
model = NoisyAttention(12)
model.eval()
x = torch.randn(2, 5, 12)
with torch.no_grad():
    print(model(x)[0, 0])
