import torch
from torch import nn


class LocalitySelfAttention(nn.Module):
    """A patch does not look at itself; the temperature is learned."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.tensor(float(d // heads)).sqrt().log().neg())
        self.to_qkv = nn.Linear(d, 3 * d, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.to_qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        dots = q @ k.transpose(-1, -2) * self.temperature.exp()
        dots = dots.masked_fill(torch.eye(n, dtype=torch.bool), -torch.finfo(dots.dtype).max)
        return (dots.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(4)
print(LocalitySelfAttention(12, 3)(torch.randn(2, 5, 12)).shape)
