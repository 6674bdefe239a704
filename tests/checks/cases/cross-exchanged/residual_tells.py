import math
import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W_q, self.W_k, self.W_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, memory):
        q = self.W_q(memory)  # expect: ATT038
        k = self.W_k(x)
        v = self.W_v(x)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        return torch.matmul(torch.softmax(scores, dim=-1), v)


class DecoderLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.cross_attn = CrossAttention(d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x, memory):
        return self.norm(x + self.cross_attn(x, memory))


torch.manual_seed(0)
layer = DecoderLayer(8)
print(layer(torch.randn(2, 5, 8), torch.randn(2, 5, 8)).shape)
