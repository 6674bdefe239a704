import torch, math
import torch.nn as nn
class Block(nn.Module):
    def __init__(self, d=12, h=3):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.a = nn.MultiheadAttention(d, h, batch_first=True)
        self.f = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, d))
    def forward(self, x):
        n = self.n1(x)
        a, _ = self.a(n, n, n)
        x = n + a  # expect: ATT111
        n = self.n2(x)
        return n + self.f(n)  # expect: ATT111
torch.manual_seed(0)
print(Block()(torch.randn(2, 5, 12)).shape)
