import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(d, hidden), nn.Linear(d, d)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))  # expect: ATT121


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.ff, self.n1, self.n2 = FeedForward(d, 4 * d), nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.ff(self.n2(x))


torch.manual_seed(0)
print(Block(12, 3)(torch.randn(2, 5, 12)).shape)
