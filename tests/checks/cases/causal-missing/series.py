import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, features, dim):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.out = nn.Linear(dim, features)

    def forward(self, x):
        h = self.inp(x)
        a, _ = self.attn(h, h, h)  # expect: ATT071
        return self.out(h + a)


torch.manual_seed(6)
series = torch.randn(2, 7, 3).cumsum(1)
net = Forecaster(3, 8)
prediction = net(series[:, :-1])
loss = ((prediction - series[:, 1:]) ** 2).mean()
print(loss.item())
