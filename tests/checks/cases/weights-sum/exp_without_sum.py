import math
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.d_k = d_k
        self.q = nn.Linear(d_model, d_k)
        self.k = nn.Linear(d_model, d_k)
        self.v = nn.Linear(d_model, d_k)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_k)
        scores = scores - scores.max(dim=-1, keepdim=True).values
        weights = torch.exp(scores)  # expect: ATT004
        return weights @ v


torch.manual_seed(50)
print(Attention(12, 6)(torch.randn(2, 5, 12)).shape)
