import math

import torch
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.reset()

    def reset(self):
        self.past_k = self.past_v = None

    def forward(self, x):  # one new token: (B, 1, D)
        q, k, v = self.q(x), self.k(x), self.v(x)
        if self.past_k is not None:
            k = torch.cat([self.past_k, k], dim=1)
            v = torch.cat([self.past_v, v], dim=1)
        self.past_k, self.past_v = k, v
        return torch.softmax(q @ k.transpose(1, 2) / math.sqrt(k.size(-1)), dim=-1) @ v


torch.manual_seed(0)
attn = CachedAttention(8).eval()
x = torch.randn(2, 4, 8)
with torch.no_grad():
    outs = [attn(x[:, t : t + 1]) for t in range(4)]
    attn.reset()
print(torch.cat(outs, dim=1).shape)
