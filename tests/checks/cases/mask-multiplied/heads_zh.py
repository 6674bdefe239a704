import math

import torch
from torch import nn


class 多头注意力(nn.Module):
    def __init__(self, 维度, 头数):
        super().__init__()
        self.头数, self.头维 = 头数, 维度 // 头数
        self.qkv = nn.Linear(维度, 3 * 维度)
        self.输出 = nn.Linear(维度, 维度)

    def forward(self, x, 掩码):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.头数, self.头维).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        分数 = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.头维)
        分数 *= 掩码[:, None, None, :]  # expect: ATT056
        权重 = torch.softmax(分数, -1)
        return self.输出((权重 @ v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(2)
掩码 = torch.tensor([[1.0, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
print(多头注意力(12, 3)(torch.randn(2, 5, 12), 掩码).shape)
