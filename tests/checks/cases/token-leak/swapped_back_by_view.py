import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.bn = nn.BatchNorm1d(d)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        h = self.bn(x.transpose(1, 2))
        h = h.reshape(x.shape)  # expect: ATT082
        y = F.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h))
        return x + y


torch.manual_seed(5)
net = Block(12).eval()
print(net(torch.randn(2, 5, 12)).std())
