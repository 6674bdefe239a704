import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.query_proj = nn.Linear(d, d)
        self.key_proj = nn.Linear(d, d)
        self.value_proj = nn.Linear(d, d)

    def forward(self, query, key, value):
        Q = self.query_proj(query)
        K = self.key_proj(key)
        V = self.value_proj(value)
        w = torch.softmax(Q @ K.transpose(1, 2) / Q.shape[-1] ** 0.5, dim=-1)
        return w @ V


class Decoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.cross = Attention(d)
        self.pos = nn.Parameter(torch.randn(1, 6, d) * 0.1)

    def forward(self, x, memory):
        keys = memory + self.pos
        values = memory
        return x + self.cross(x, values, keys)  # expect: ATT033


torch.manual_seed(0)
dec = Decoder(8)
print(dec(torch.randn(2, 3, 8), torch.randn(2, 6, 8)).sum())
