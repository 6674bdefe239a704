import torch
import torch.nn as nn
class A(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.qkv = nn.Linear(d, 3 * d)
        self.o = nn.Linear(d, d)
    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.h, self.dk).transpose(1, 2)
        q, k, v = qkv[:, 0].transpose(1, 2), qkv[:, 1].transpose(1, 2), qkv[:, 2].transpose(1, 2)
        a = torch.softmax(q @ k.transpose(-2, -1) / self.dk ** 0.5, -1)
        return self.o((a @ v).transpose(1, 2).reshape(B, N, C))
torch.manual_seed(0)
print(A(12, 3)(torch.randn(2, 5, 12)).shape)
