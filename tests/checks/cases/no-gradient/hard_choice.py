import torch
import torch.nn.functional as F
from torch import nn


class HardAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.ModuleList(nn.Linear(d, d) for _ in range(3))

    def forward(self, x):
        q, k, v = (f(x) for f in self.qkv)
        w = F.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
        hard = F.one_hot(w.argmax(dim=-1), w.size(-1)).to(v.dtype)  # expect: ATT113
        return hard @ v


torch.manual_seed(0)
net = HardAttention(12)
net(torch.randn(2, 5, 12)).sum().backward()
print(net.qkv[0].weight.grad)
