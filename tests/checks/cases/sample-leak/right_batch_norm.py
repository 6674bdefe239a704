import torch
import torch.nn.functional as F
from torch import nn


class LeViTAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h, self.qkv, self.bn = heads, nn.Linear(dim, 3 * dim, bias=False), nn.BatchNorm1d(3 * dim)

    def forward(self, x):
        b, n, d = x.shape
        qkv = self.bn(self.qkv(x).flatten(0, 1)).view(b, n, 3, self.h, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        return ((q @ k.transpose(-2, -1) * (d // self.h) ** -0.5).softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(1)
print(LeViTAttention(12, 3)(torch.randn(2, 5, 12)).shape)
