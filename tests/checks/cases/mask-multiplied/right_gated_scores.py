import torch
from torch import nn


class GatedAttention(nn.Module):
    """Every head has a learned temperature, and every key a gate."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.gate = nn.Linear(d, heads)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        gate = self.gate(x).sigmoid().transpose(1, 2)[:, :, None, :]
        scores = q @ k.mT / (d // self.heads) ** 0.5 * self.temperature * gate
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(6)
print(GatedAttention(12, 3)(torch.randn(2, 5, 12)).shape)
