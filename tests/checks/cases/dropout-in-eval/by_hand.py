import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_in, d_out, keep=0.9):
        super().__init__()
        self.keep = keep
        self.wq = nn.Linear(d_in, d_out)
        self.wk = nn.Linear(d_in, d_out)
        self.wv = nn.Linear(d_in, d_out)

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        w = torch.softmax(q @ k.mT / math.sqrt(k.shape[-1]), dim=-1)
        kept = torch.rand_like(w) < self.keep  # expect: ATT101
        w = w * kept / self.keep
        return w @ v


torch.manual_seed(7)
model = Attention(8, 6).eval()
print(model(torch.randn(3, 5, 8)))
