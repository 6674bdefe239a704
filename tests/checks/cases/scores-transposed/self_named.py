import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        scores = torch.matmul(K, Q.transpose(-2, -1))  # expect: ATT022
        scores = scores / math.sqrt(K.size(-1))
        weights = F.softmax(scores, dim=-1)
        return torch.matmul(weights, V)


torch.manual_seed(42)
print(SelfAttention(8)(torch.randn(2, 4, 8)))
