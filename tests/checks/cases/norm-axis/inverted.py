import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x / torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain  # expect: ATT112


torch.manual_seed(41)
x = torch.randn(2, 5, 12)
q, k, v = nn.Linear(12, 36)(RMSNorm(12)(x)).chunk(3, -1)
print((x + (q @ k.mT / 12**0.5).softmax(-1) @ v).shape)
