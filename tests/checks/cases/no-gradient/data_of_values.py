import math

import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d, d_mem):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d_mem, d), nn.Linear(d_mem, d)

    def forward(self, x, memory):
        q, k, v = self.q(x), self.k(memory), self.v(memory)
        w = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
        return w @ v.data  # expect: ATT113


torch.manual_seed(0)
layer = CrossAttention(12, 10)
y = layer(torch.randn(2, 5, 12), torch.randn(2, 7, 10))
y.mean().backward()
print(layer.v.weight.grad)
