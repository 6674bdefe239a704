import torch
import torch.nn as nn


class Attn(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        q, k, v = self.qkv(x).split(self.dim, dim=-1)
        a = torch.bmm(q, k.transpose(1, 2)) * self.dim ** -0.5
        a = torch.exp(a - a.amax(-1, keepdim=True))
        a = a / a.sum(-1, keepdim=True)
        return torch.bmm(self.softmax(a), v)  # expect: ATT003


torch.manual_seed(42)
print(Attn(10)(torch.randn(2, 6, 10)).shape)
