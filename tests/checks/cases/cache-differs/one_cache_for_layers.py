import math
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, cache):
        cache.append((self.k(x), self.v(x)))
        K = torch.cat([k for k, _ in cache], dim=1)  # expect: ATT099
        V = torch.cat([v for _, v in cache], dim=1)
        scores = self.q(x) @ K.transpose(1, 2) / math.sqrt(x.size(-1))
        return x + scores.softmax(-1) @ V


torch.manual_seed(4)
layers = nn.ModuleList(Layer(8) for _ in range(2))
caches = [[]] * 2
with torch.no_grad():
    for step in range(4):
        h = torch.randn(2, 1, 8)
        for layer, cache in zip(layers, caches):
            h = layer(h, cache)
print(h.shape)
