import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        att = q @ k.transpose(1, 2) / math.sqrt(k.size(2))
        return F.softmax(att, dim=-1) @ v


torch.manual_seed(134)
print(SelfAttention(8)(torch.randn(2, 5, 8)).shape)
