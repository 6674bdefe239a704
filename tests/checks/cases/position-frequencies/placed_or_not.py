import torch
from torch import nn


def waves(n, d):
    rate = 10000.0 ** (-torch.arange(d // 2) / d)  # expect: ATT092
    angle = torch.arange(n)[:, None] * rate
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


class Layer(nn.Module):
    def __init__(self, d, placed):
        super().__init__()
        self.qkv, self.placed = nn.Linear(d, 3 * d), placed

    def forward(self, x):
        if self.placed:
            x = x + waves(*x.shape[1:])
        q, k, v = self.qkv(x).chunk(3, -1)
        return (q @ k.mT / x.size(-1) ** 0.5).softmax(-1) @ v


torch.manual_seed(14)
x = torch.randn(2, 7, 16)
for placed in (False, True):
    print(Layer(16, placed)(x).shape)
