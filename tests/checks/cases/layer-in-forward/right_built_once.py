import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.qkv = None
        self.out = nn.Linear(d, d)

    def forward(self, x):
        if self.qkv is None:
            self.qkv = nn.Linear(x.shape[-1], 3 * self.d)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        w = torch.softmax(q @ k.transpose(-2, -1) / self.d ** 0.5, dim=-1)
        return self.out(w @ v)


torch.manual_seed(0)
attn = Attention(8)
x = torch.randn(2, 5, 8)
attn(x)
opt = torch.optim.Adam(attn.parameters())
print(attn(x).shape, len(list(attn.parameters())))
