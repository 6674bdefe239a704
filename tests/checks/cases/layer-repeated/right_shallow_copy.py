import copy

import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(n)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
proto = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
print(Encoder(proto, 3)(torch.randn(2, 5, 8)).mean())
