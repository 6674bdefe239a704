# The user's own ValueError, raised from inside forward after some operations, uncaught.
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d_model, 3 * d_model)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        if q.shape[-1] % self.heads:
            raise ValueError(f"d_model={q.shape[-1]} 不能被 heads={self.heads} 整除")
        return q @ k.transpose(-2, -1) @ v


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Attention(8, 2), Attention(8, 3)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            print("norm", x.norm().item())
        return x


torch.manual_seed(0)
model = Model()
try:
    model(torch.randn(1, 4, 8))
finally:
    print("cleaned up")
