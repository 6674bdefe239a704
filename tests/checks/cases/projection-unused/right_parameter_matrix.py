# 手写的多头注意力，权重用 nn.Parameter 表示
import torch
import torch.nn as nn


class Attn(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.wq = nn.Parameter(torch.randn(d, d) / d ** 0.5)
        self.wk = nn.Parameter(torch.randn(d, d) / d ** 0.5)
        self.wv = nn.Parameter(torch.randn(d, d) / d ** 0.5)
        self.wo = nn.Parameter(torch.randn(d, d) / d ** 0.5)

    def heads(self, t):
        return t.unflatten(-1, (self.h, self.dk)).transpose(-2, -3)

    def forward(self, x):
        q, k, v = self.heads(x @ self.wq), self.heads(x @ self.wk), self.heads(x @ self.wv)
        w = torch.softmax(q @ k.mT / self.dk ** 0.5, -1)
        y = (w @ v).transpose(-2, -3).flatten(-2)
        return y @ self.wo


torch.manual_seed(0)
print("输出形状", Attn(12, 3)(torch.randn(2, 5, 12)).shape)
