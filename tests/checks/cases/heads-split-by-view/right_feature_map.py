import torch
import torch.nn as nn


class ConvAttention(nn.Module):
    """Channels first: the head axis is already before the positions, a view is right."""

    def __init__(self, c, h):
        super().__init__()
        self.h, self.dk = h, c // h
        self.to_qkv = nn.Conv2d(c, 3 * c, 1, bias=False)
        self.to_out = nn.Conv2d(c, c, 1)

    def forward(self, x):
        b, c, height, width = x.shape
        q, k, v = self.to_qkv(x).view(b, 3, self.h, self.dk, height * width).unbind(1)
        w = torch.einsum("bhdi,bhdj->bhij", q * self.dk ** -0.5, k).softmax(dim=-1)
        y = torch.einsum("bhij,bhdj->bhdi", w, v)
        return self.to_out(y.reshape(b, c, height, width))


torch.manual_seed(0)
print(ConvAttention(12, 3)(torch.randn(2, 12, 2, 3)).shape)
