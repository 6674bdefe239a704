# 注意力：键和值的权重在 __init__ 里，查询的权重……
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.W_q = nn.Parameter(torch.randn(d, d) * 0.1)
        self.W_k = nn.Parameter(torch.randn(d, d) * 0.1)
        self.W_v = nn.Parameter(torch.randn(d, d) * 0.1)

    def forward(self, x):
        q = x @ self.W_q
        k, v = x @ self.W_k, x @ self.W_v
        return torch.softmax(q @ k.transpose(1, 2) / self.d ** 0.5, dim=-1) @ v


torch.manual_seed(0)
net = Attention(6)
x = torch.randn(2, 4, 6)
print(net(x).sum().item())
