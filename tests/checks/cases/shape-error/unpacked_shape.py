import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv = h, nn.Linear(d, 3 * d)

    def forward(self, x):
        b, h, l, d = x.shape  # expect: ATT121
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return torch.softmax(q @ k.transpose(-2, -1) / d**0.5, dim=-1) @ v


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
