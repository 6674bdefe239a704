import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
        return w @ v


@torch.no_grad()
def main():
    torch.manual_seed(0)
    model = Attention(12).eval()
    out = model(torch.randn(2, 5, 12))
    print("形状", out.shape, "均值", out.mean().item())
    print(out.numpy().dtype)


main()
