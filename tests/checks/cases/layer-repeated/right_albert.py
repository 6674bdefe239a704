import torch
import torch.nn as nn


class SharedEncoder(nn.Module):
    """Cross-layer parameter sharing, as in ALBERT."""

    def __init__(self, d, h, repeats):
        super().__init__()
        self.shared = nn.TransformerEncoderLayer(d, h, 2 * d, dropout=0.0, batch_first=True)
        self.repeats = repeats

    def forward(self, x):
        for _ in range(self.repeats):
            x = self.shared(x)
        return x


torch.manual_seed(0)
print(SharedEncoder(12, 3, 4)(torch.randn(2, 5, 12)).shape)
