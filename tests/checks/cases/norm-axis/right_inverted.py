import torch
from torch import nn


class ResponseNorm(nn.Module):
    """Each feature is multiplied by its size beside that of the others (as in ConvNeXt V2)."""

    def __init__(self, d):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d))

    def forward(self, x):
        root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        size = x.abs() * root
        return x * root / (1 / (1 + size)) * self.gain


torch.manual_seed(41)
x = torch.randn(2, 5, 12)
q, k, v = nn.Linear(12, 36)(ResponseNorm(12)(x)).chunk(3, -1)
print((x + (q @ k.mT / 12**0.5).softmax(-1) @ v).shape)
