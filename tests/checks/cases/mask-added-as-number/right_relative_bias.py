import torch
from torch import nn


class RelativeAttention(nn.Module):
    def __init__(self, d, heads, size):
        super().__init__()
        self.heads, self.size = heads, size
        self.qkv = nn.Linear(d, 3 * d)
        self.table = nn.Parameter(torch.zeros(2 * size - 1, heads))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        offset = torch.arange(n)[:, None] - torch.arange(n)[None, :] + self.size - 1
        bias = self.table[offset].permute(2, 0, 1)
        scores = q @ k.mT / (d // self.heads) ** 0.5 + bias
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(6)
print(RelativeAttention(12, 3, 8)(torch.randn(2, 5, 12)).shape)
