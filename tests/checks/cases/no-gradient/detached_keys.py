import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x).detach(), self.v(x)  # expect: ATT113
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
        return w @ v


torch.manual_seed(0)
net = Attention(12)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(2, 5, 12), torch.randn(2, 5, 12)
for _ in range(2):
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    opt.step()
print(loss.item())
