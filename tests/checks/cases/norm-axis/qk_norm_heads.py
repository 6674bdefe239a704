import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """QK-norm"""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.g = nn.Parameter(torch.full((h, 1, 1), 10.0))

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = self.qkv(x).view(b, l, 3, self.h, d // self.h).unbind(2)
        q = F.normalize(q, dim=2)  # expect: ATT112
        k = F.normalize(k, dim=3)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        w = torch.softmax(self.g * (q @ k.transpose(-2, -1)), dim=-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, l, d))


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
