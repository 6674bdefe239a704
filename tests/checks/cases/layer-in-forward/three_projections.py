import math

import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.embed_dim = embed_dim

    def forward(self, x):
        W_q = nn.Linear(self.embed_dim, self.embed_dim)  # expect: ATT036
        W_k = nn.Linear(self.embed_dim, self.embed_dim)  # expect: ATT036
        W_v = nn.Linear(self.embed_dim, self.embed_dim)  # expect: ATT036
        Q, K, V = W_q(x), W_k(x), W_v(x)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.embed_dim)
        return scores.softmax(dim=-1) @ V


torch.manual_seed(0)
attn = SelfAttention(8)
print(len(list(attn.parameters())), attn(torch.randn(2, 4, 8)).shape)
