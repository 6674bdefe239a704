import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.map = None

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
        self.map = w.detach().cpu()  # for a picture
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
print(loss.item(), net.map.shape)
