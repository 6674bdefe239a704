import math
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.size(-1))
        weights = nn.Softmax(dim=-1)(scores)
        return nn.Flatten(1)(weights @ self.v(x))


torch.manual_seed(0)
print(Attention(8)(torch.randn(2, 4, 8)).shape)
