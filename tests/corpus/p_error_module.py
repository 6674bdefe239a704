# A shape error in a matmul inside a module, uncaught: the traceback goes through nn.Module.__call__.
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
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = torch.matmul(
            Q,
            K,  # the transpose is missing
        ) / math.sqrt(Q.size(-1))
        return F.softmax(scores, dim=-1) @ V


class Block(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.attention = nn.Sequential(SelfAttention(d_model), nn.Dropout(0.1))

    def forward(self, x):
        return x + self.attention(self.norm(x))


torch.manual_seed(0)
x = torch.randn(2, 4, 8)
block = Block(8)
print("before", x.shape)
print(block(x).shape)
print("never printed")
