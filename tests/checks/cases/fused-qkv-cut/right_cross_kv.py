import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.to_q = nn.Linear(d, d)
        self.to_kv = nn.Linear(d, 2 * d)
        self.to_out = nn.Linear(d, d)

    def forward(self, x, ctx):
        b, n, d = x.shape
        m = ctx.shape[1]
        q = self.to_q(x).view(b, n, self.h, self.dk).transpose(1, 2)
        k, v = self.to_kv(ctx).view(b, m, 2, self.h, self.dk).permute(2, 0, 3, 1, 4)
        w = (q @ k.transpose(-2, -1) * self.dk ** -0.5).softmax(dim=-1)
        return self.to_out((w @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(CrossAttention(12, 3)(torch.randn(2, 5, 12), torch.randn(2, 7, 12)).shape)
