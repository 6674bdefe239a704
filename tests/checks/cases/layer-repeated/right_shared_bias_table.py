import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    """Every layer has its own weights; the relative bias is one table for all of them (T5)."""

    def __init__(self, d, h, bias):
        super().__init__()
        self.h = h
        self.bias = bias
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        i = torch.arange(n)
        rel = self.bias((i[None] - i[:, None]).clamp(-3, 3) + 3).permute(2, 0, 1)
        w = F.softmax(q @ k.transpose(-2, -1) / (d // self.h) ** 0.5 + rel, dim=-1)
        return x + self.out((w @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
table = nn.Embedding(7, 3)
layers = nn.ModuleList(Layer(12, 3, table) for _ in range(3))
x = torch.randn(2, 5, 12)
for layer in layers:
    x = layer(x)
print(x.shape)
