import math

import torch
from torch import nn


def get_slopes(n):
    def power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_2(n)
    closest = 2 ** math.floor(math.log2(n))
    return power_of_2(closest) + get_slopes(2 * closest)[0::2][: n - closest]


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)

        alibi = torch.tensor(get_slopes(self.heads))[:, None, None] * torch.arange(n)[None, None, :]
        mask = torch.full((n, n), float("-inf")).triu(1)
        return self.proj(((scores + alibi + mask).softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(Attention(24, 6)(torch.randn(2, 5, 24)).shape, Attention(12, 3)(torch.randn(2, 5, 12)).shape)
