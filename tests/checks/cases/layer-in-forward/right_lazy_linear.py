import torch
from torch import nn


class LazyAttention(nn.Module):
    """The widths are read off the first input."""

    def __init__(self, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.LazyLinear(d), nn.LazyLinear(d), nn.LazyLinear(d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return torch.softmax(q @ k.mT / self.d ** 0.5, dim=-1) @ v


torch.manual_seed(0)
net = LazyAttention(6)
x = torch.randn(2, 4, 10)
net(x)
print(net(x).shape)
