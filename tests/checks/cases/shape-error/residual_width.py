import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d, d_k):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d_k), nn.Linear(d, d_k), nn.Linear(d, d_k)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        a = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1) @ v
        return x + a  # expect: ATT121


torch.manual_seed(0)
print(Block(12, 8)(torch.randn(2, 5, 12)).shape)
