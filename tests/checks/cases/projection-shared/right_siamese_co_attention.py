import torch
import torch.nn as nn


class CoAttention(nn.Module):
    """Two sentences in one space: the same encoder reads both, each attends to the other."""

    def __init__(self, d):
        super().__init__()
        self.encode = nn.Linear(d, d)

    def forward(self, a, b):
        ha, hb = self.encode(a), self.encode(b)
        sim = ha @ hb.transpose(1, 2) / ha.size(-1) ** 0.5
        a2b = sim.softmax(dim=2) @ b
        b2a = sim.softmax(dim=1).transpose(1, 2) @ a
        return a2b, b2a


torch.manual_seed(0)
p, h = CoAttention(6)(torch.randn(2, 4, 6), torch.randn(2, 5, 6))
print(p.shape, h.shape)
