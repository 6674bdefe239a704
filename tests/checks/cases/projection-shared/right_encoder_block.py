import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.h, self.dk = n_heads, d_model // n_heads
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def attend(self, x):
        b, n, d = x.size()
        q = self.linears[0](x).view(b, n, self.h, self.dk).transpose(1, 2)
        k = self.linears[1](x).view(b, n, self.h, self.dk).transpose(1, 2)
        v = self.linears[2](x).view(b, n, self.h, self.dk).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / self.dk ** 0.5
        ctx = torch.matmul(scores.softmax(-1), v)
        return self.linears[3](ctx.transpose(1, 2).contiguous().view(b, n, d))

    def forward(self, x):
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.ff(x))


torch.manual_seed(0)
blocks = nn.Sequential(Block(12, 3, 24), Block(12, 3, 24))
print(blocks(torch.randn(2, 5, 12)).shape)
