import math
import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    """Decoder tokens look at the encoder's memory."""

    def __init__(self, dim):
        super().__init__()
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x, memory):
        q, k, v = self.wq(x), self.wk(memory), self.wv(memory)
        scores = torch.matmul(k, q.transpose(-2, -1)) / math.sqrt(q.size(-1))  # expect: ATT022
        return torch.softmax(scores, dim=-1) @ v


torch.manual_seed(210)
layer = CrossAttention(8)
print(layer(torch.randn(2, 5, 8), torch.randn(2, 5, 8)).shape)
