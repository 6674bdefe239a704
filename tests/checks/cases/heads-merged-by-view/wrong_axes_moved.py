import torch
import torch.nn as nn


class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.proj = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.proj(x).view(b, n, 3, self.h, self.dk).permute(2, 0, 3, 1, 4)
        w = (q @ k.transpose(-2, -1) / self.dk ** 0.5).softmax(-1)
        y = (w @ v).transpose(2, 3).reshape(b, n, d)  # expect: ATT042
        return self.out(y)


torch.manual_seed(6)
print(MHA(12, 3)(torch.randn(2, 4, 12)).norm())
