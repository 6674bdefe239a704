import torch
import torch.nn as nn


class GQA(nn.Module):
    def __init__(self, dim, heads, groups):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, dim // heads
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * groups * self.d)
        self.o = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        rep = self.heads // self.groups
        q = self.q(x).view(b, n, self.heads, self.d).transpose(1, 2)
        k, v = self.kv(x).view(b, n, 2, self.groups, self.d).permute(2, 0, 3, 1, 4)
        k = k.repeat_interleave(rep, dim=1)
        v = v.repeat_interleave(rep, dim=1)
        w = (q @ k.transpose(-2, -1) / self.d ** 0.5).softmax(-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, n, c))


torch.manual_seed(0)
print(GQA(24, 6, 3)(torch.randn(2, 5, 24)).std())
