"""Embedded Gaussian of non-local networks: softmax(theta^T phi) g, without a scale."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class NonLocal(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        self.theta, self.phi, self.g = (nn.Conv2d(channels, inner, 1) for _ in range(3))
        self.w = nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        theta = self.theta(x).flatten(2).transpose(1, 2)
        phi = self.phi(x).flatten(2)
        g = self.g(x).flatten(2).transpose(1, 2)
        y = F.softmax(theta @ phi, dim=-1) @ g
        return x + self.w(y.transpose(1, 2).reshape(b, -1, h, w))


torch.manual_seed(121)
print(NonLocal(6, 4)(torch.randn(2, 6, 3, 4)).shape)
