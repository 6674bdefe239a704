import torch
import torch.nn as nn


class Albert(nn.Module):
    """One layer, applied again and again with the same weights."""

    def __init__(self, d_model, depth):
        super().__init__()
        self.depth = depth
        self.layer = nn.TransformerEncoderLayer(d_model, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True)

    def forward(self, x):
        for _ in range(self.depth):
            x = self.layer(x)
        return x


torch.manual_seed(0)
print(Albert(8, 3)(torch.randn(2, 4, 8)).sum())
