import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    """Scaled dot-product self-attention, one head, with dropout on the weights."""

    def __init__(self, embed_dim, key_dim, dropout=0.1):
        super().__init__()
        self.query = nn.Linear(embed_dim, key_dim)
        self.key = nn.Linear(embed_dim, key_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        # x: (batch, seq_len, embed_dim)
        q = self.query(x)
        k = self.key(x)
        v = self.value(x)

        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores / math.sqrt(q.size(-1))

        attn = F.softmax(scores, dim=-1)
        attn = self.dropout(attn)

        out = torch.matmul(attn, v)
        return out


torch.manual_seed(0)
x = torch.randn(2, 5, 12)
layer = SelfAttention(embed_dim=12, key_dim=7)
y = layer(x)
print(y.shape)
print("sum: %.4f" % y.sum().item())
