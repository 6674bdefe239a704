import torch
from torch import nn


class DeepNormLayer(nn.Module):
    def __init__(self, d, h, alpha=1.4):
        super().__init__()
        self.alpha = alpha
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        x = self.n1(self.alpha * x + self.attn(x, x, x, need_weights=False)[0])
        return self.n2(self.alpha * x + self.ff(x))


class CaiTBlock(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.norm, self.gamma = nn.LayerNorm(d), nn.Parameter(1e-2 * torch.ones(d))

    def forward(self, x):
        h = self.norm(x)
        return x + self.gamma * self.attn(h, h, h, need_weights=False)[0]


torch.manual_seed(0)
x = torch.randn(2, 5, 12)
print(DeepNormLayer(12, 3)(x).std(), CaiTBlock(12, 3)(x).std())
