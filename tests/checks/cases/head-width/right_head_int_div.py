import torch
import torch.nn as nn
class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.hd = int(d / h)
        self.q = nn.Linear(d, h * self.hd)
        self.k = nn.Linear(d, h * self.hd)
        self.v = nn.Linear(d, h * self.hd)
        self.o = nn.Linear(h * self.hd, d)
    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.h, self.hd).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = torch.softmax(q @ k.transpose(-1, -2) / self.hd ** 0.5, -1) @ v
        return self.o(y.transpose(1, 2).reshape(b, n, -1))
torch.manual_seed(0)
d, h = 12, 4
print(MHA(d, h)(torch.randn(2, 5, d)).shape)
