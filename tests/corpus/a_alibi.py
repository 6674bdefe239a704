import math

import torch
import torch.nn as nn


def slopes(n):
    start = 2 ** (-8 / n)
    return torch.tensor([start ** (i + 1) for i in range(n)])


class ALiBiAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.kqv = nn.Linear(width, 3 * width, bias=False)
        self.register_buffer("m", slopes(heads).view(heads, 1, 1))

    def forward(self, x):
        b, n, w = x.shape
        key, query, value = self.kqv(x).chunk(3, dim=-1)
        key = key.view(b, n, self.heads, -1).permute(0, 2, 3, 1)
        query = query.view(b, n, self.heads, -1).transpose(1, 2)
        value = value.view(b, n, self.heads, -1).transpose(1, 2)

        pos = torch.arange(n)
        bias = self.m * (pos[None, :] - pos[:, None]).clamp(max=0)   # [heads, n, n]
        score = torch.matmul(query, key) / math.sqrt(query.size(-1)) + bias
        score = score.masked_fill(pos[None, :] > pos[:, None], float("-inf"))
        attn = torch.softmax(score, -1)
        return torch.matmul(attn, value).transpose(1, 2).reshape(b, n, w)


torch.manual_seed(35)
att = ALiBiAttention(width=12, heads=4)
y = att(torch.randn(2, 7, 12))
print(y.shape, y.norm().item())
