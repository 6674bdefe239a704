import torch, math
import torch.nn as nn
class Attn(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(12), -1)
        out = w @ v
        return self.o(out.detach())  # expect: ATT113
torch.manual_seed(0)
m = Attn()
m(torch.randn(2, 5, 12)).sum().backward()
print({n: p.grad is None for n, p in m.named_parameters()})
