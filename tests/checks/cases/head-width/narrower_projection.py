# 多头注意力：宽度 10，3 个头
import torch
import torch.nn as nn


class MHA(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads  # expect: ATT045
        inner = self.head_dim * n_heads
        self.q, self.k, self.v = nn.Linear(d_model, inner), nn.Linear(d_model, inner), nn.Linear(d_model, inner)
        self.o = nn.Linear(inner, d_model)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.n_heads, self.head_dim).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim ** 0.5, dim=-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(0)
d_model, n_heads = 10, 3
print("输出", MHA(d_model, n_heads)(torch.randn(2, 5, d_model)).shape)
