# stop-gradient on purpose, said so by the paper: queries learn, keys come from the slow copy
import copy
import math

import torch
from torch import nn


class MoCoAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.v = nn.Linear(d, d), nn.Linear(d, d)
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, m=0.99):
        for slow, fast in zip(self.k.parameters(), self.q.parameters()):
            slow.mul_(m).add_(fast, alpha=1 - m)

    def forward(self, x):
        self.update()
        q, v = self.q(x), self.v(x)
        with torch.no_grad():
            k = self.k(x)
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1) @ v


torch.manual_seed(0)
net = MoCoAttention(12)
net(torch.randn(2, 5, 12)).sum().backward()
print(net.q.weight.grad.norm(), net.k.weight.grad)
