import torch
import torch.nn as nn


class MemoryUpdate(nn.Module):
    """The memory asks what is new in x, and keeps it: here the memory is the one that is updated."""

    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x, memory):
        q, k, v = self.q(memory), self.k(x), self.v(x)
        w = torch.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
        return self.norm(memory + w @ v)


torch.manual_seed(0)
print(MemoryUpdate(8)(torch.randn(2, 5, 8), torch.randn(2, 5, 8)).shape)
