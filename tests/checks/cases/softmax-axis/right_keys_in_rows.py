import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class KeyMajorAttention(nn.Module):
    """Scores stay key x query from beginning to end."""

    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = k @ q.transpose(1, 2) / math.sqrt(k.size(-1))    # [B, K, Q]
        weights = F.softmax(scores, dim=1)
        return weights.transpose(1, 2) @ v


torch.manual_seed(21)
print(KeyMajorAttention(8)(torch.randn(2, 4, 8)).shape)
