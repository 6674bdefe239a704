# Gemma 2 caps the scores with a tanh before the softmax.
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, cap=50.0):
        super().__init__()
        self.cap = cap
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.einsum("bid,bjd->bij", q, k) / q.size(-1) ** 0.5
        scores = self.cap * torch.tanh(scores / self.cap)
        return torch.einsum("bij,bjd->bid", F.softmax(scores, dim=-1), v)


torch.manual_seed(0)
print(Attention(12)(torch.randn(2, 5, 12)).mean())
