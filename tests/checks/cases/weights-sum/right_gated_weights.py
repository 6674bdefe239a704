"""A gate of each head after the softmax."""
import torch
import torch.nn as nn


class GatedHeads(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dh = heads, dim // heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.gate = nn.Parameter(torch.zeros(heads, 1, 1))

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = self.qkv(x).view(B, L, 3, self.heads, self.dh).permute(2, 0, 3, 1, 4)
        w = ((q @ k.mT) / self.dh ** 0.5).softmax(-1)
        w = torch.sigmoid(self.gate) * w
        return self.out((w @ v).transpose(1, 2).flatten(2))


torch.manual_seed(67)
print(GatedHeads(12, 3)(torch.randn(2, 5, 12)).shape)
