import torch
from torch import nn


class SandwichBlock(nn.Module):
    """Gemma 2: a norm before and after each part, inside the residual."""

    def __init__(self, d, h):
        super().__init__()
        self.pre1, self.post1, self.pre2, self.post2 = (nn.LayerNorm(d) for _ in range(4))
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        h = self.pre1(x)
        x = x + self.post1(self.attn(h, h, h, need_weights=False)[0])
        return x + self.post2(self.mlp(self.pre2(x)))


class Olmo2Block(nn.Module):
    """Norm on what is added alone."""

    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.n1(self.attn(x, x, x, need_weights=False)[0])
        return x + self.n2(self.mlp(x))


torch.manual_seed(0)
x = torch.randn(2, 5, 12)
print(SandwichBlock(12, 3)(x).std(), Olmo2Block(12, 3)(x).std())
