import math
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, seq_len, d_model):
        super().__init__()
        n = d_model
        self.query, self.key, self.value = nn.Linear(n, n), nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x):
        B, L, D = x.shape
        q = self.query(x).view(B, L, D)
        k = self.key(x).view(B, L, D)
        v = self.value(x).view(B, L, D)
        scores = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(D)
        return torch.matmul(torch.softmax(scores, dim=-1), v)


torch.manual_seed(3)
print(SelfAttention(5, 6)(torch.randn(2, 5, 6)).shape)
