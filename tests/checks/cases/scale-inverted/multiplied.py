import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.q = nn.Linear(embed_dim, embed_dim)
        self.k = nn.Linear(embed_dim, embed_dim)
        self.v = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        Q, K, V = self.q(x), self.k(x), self.v(x)
        scores = torch.matmul(Q, K.transpose(-2, -1)) * math.sqrt(Q.size(-1))  # expect: ATT013
        return F.softmax(scores, dim=-1) @ V


torch.manual_seed(150)
print(SelfAttention(8)(torch.randn(2, 4, 8)).shape)
