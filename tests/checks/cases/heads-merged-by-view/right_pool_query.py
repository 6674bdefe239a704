import torch
import torch.nn as nn
class AttentionPool(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.cls = nn.Parameter(torch.randn(1, 1, d))
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
    def forward(self, x):
        b, n, d = x.shape
        q = self.q(self.cls).view(1, 1, self.h, -1).transpose(1, 2)
        k = self.k(x).view(b, n, self.h, -1).transpose(1, 2)
        v = self.v(x).view(b, n, self.h, -1).transpose(1, 2)
        w = torch.softmax(q @ k.transpose(-1, -2) / (d // self.h) ** 0.5, -1)
        return self.o((w @ v).transpose(1, 2).reshape(b, d))
torch.manual_seed(0)
print(AttentionPool(12, 3)(torch.randn(2, 5, 12)).shape)
