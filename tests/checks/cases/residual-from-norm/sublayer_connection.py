import torch, math
import torch.nn as nn
class Sub(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(d), nn.Dropout(p)
    def forward(self, x, sublayer):
        x = self.norm(x)
        return x + self.drop(sublayer(x))  # expect: ATT111
class Layer(nn.Module):
    def __init__(self, d=12, h=3):
        super().__init__()
        self.a = nn.MultiheadAttention(d, h, batch_first=True)
        self.f = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, d))
        self.s = nn.ModuleList([Sub(d, 0.1), Sub(d, 0.1)])
    def forward(self, x):
        x = self.s[0](x, lambda t: self.a(t, t, t)[0])
        return self.s[1](x, self.f)
torch.manual_seed(0)
print(Layer()(torch.randn(2, 5, 12)).shape)
