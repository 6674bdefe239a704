import torch, math
import torch.nn as nn
class Block(nn.Module):
    def __init__(self, d=12, h=3):
        super().__init__()
        self.n1 = nn.LayerNorm(5)
        self.a = nn.MultiheadAttention(d, h, batch_first=True)
    def forward(self, x):
        n = self.n1(x.transpose(1, 2)).transpose(1, 2)  # expect: ATT112
        return x + self.a(n, n, n)[0]
torch.manual_seed(0)
print(Block()(torch.randn(2, 5, 12)).shape)
