import torch
import torch.nn as nn


class GraphAttention(nn.Module):
    """The heads of the last layer are averaged, not put side by side."""

    def __init__(self, d, h, out):
        super().__init__()
        self.h = h
        self.q, self.k = nn.Linear(d, h * out), nn.Linear(d, h * out)
        self.v = nn.Linear(d, h * out)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (f(x).view(b, n, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
        return (w @ v).mean(dim=1)


torch.manual_seed(0)
print(GraphAttention(8, 3, 5)(torch.randn(2, 6, 8)).shape)
