import torch
import torch.nn as nn
import torch.nn.functional as F
class Attn(nn.Module):
    def __init__(self, c, h):
        super().__init__()
        self.h = h
        self.key, self.query, self.value, self.proj = (nn.Linear(c, c, bias=False) for _ in range(4))
    def forward(self, x):
        B, T, C = x.shape
        k = self.key(x).view(B, T, self.h, C // self.h).transpose(1, 2)
        q = self.query(x).view(B, T, self.h, C // self.h).transpose(1, 2)
        v = self.value(x).view(B, T, self.h, C // self.h).transpose(1, 2)
        w = q @ k.transpose(-2, -1) * (C // self.h) ** -0.5
        w = w.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf"))
        return self.proj((w.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))
torch.manual_seed(0)
print(Attn(12, 3)(torch.randn(2, 5, 12)).shape)
