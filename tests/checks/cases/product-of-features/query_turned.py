import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.d = d_model

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.matmul(q.transpose(-2, -1), k) / math.sqrt(self.d)  # expect: ATT021
        weights = F.softmax(scores, dim=-1)
        return torch.matmul(v, weights)


torch.manual_seed(200)
print(SelfAttention(12)(torch.randn(2, 5, 12)).shape)
