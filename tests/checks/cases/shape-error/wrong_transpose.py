import math

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, x):
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = Q @ K.transpose(0, 1) / math.sqrt(K.size(-1))  # expect: ATT121
        return torch.softmax(scores, dim=-1) @ V


torch.manual_seed(0)
print(SelfAttention(12)(torch.randn(2, 5, 12)).shape)
