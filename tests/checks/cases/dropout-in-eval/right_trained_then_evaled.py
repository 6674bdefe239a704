import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, h, p):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.attn_drop, self.out_drop = nn.Dropout(p), nn.Dropout(p)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (f(x).view(b, l, self.h, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = self.attn_drop(F.softmax(q @ k.transpose(-2, -1) / math.sqrt(d // self.h), dim=-1))
        return self.out_drop(self.o((w @ v).transpose(1, 2).reshape(b, l, d)))


torch.manual_seed(0)
net = Attention(12, 3, 0.1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(2, 5, 12), torch.randn(2, 5, 12)
for epoch in range(3):
    net.train()
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (net(x) - y).pow(2).mean().item())
