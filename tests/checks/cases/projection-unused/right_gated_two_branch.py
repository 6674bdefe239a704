import torch
import torch.nn as nn
class Attn(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.g, self.o = (nn.Linear(d, d) for _ in range(5))
    def forward(self, x):
        b, n, d = x.shape
        sp = lambda t: t.view(b, n, self.h, d // self.h).permute(0, 2, 1, 3)
        q, k, v = sp(self.q(x)), sp(self.k(x)), sp(self.v(x))
        y = torch.softmax(q @ k.transpose(-1, -2) / (d // self.h) ** 0.5, -1) @ v
        y = y.permute(0, 2, 1, 3).flatten(2) * torch.sigmoid(self.g(x))
        return self.o(y)
torch.manual_seed(0)
print(Attn(12, 3)(torch.randn(2, 5, 12)).shape)
