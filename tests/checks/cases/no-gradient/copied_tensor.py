import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.proj_q, self.proj_k, self.proj_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        q, k = self.proj_q(x), self.proj_k(x)
        w = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1)), dim=-1)
        w = torch.tensor(w.tolist())  # expect: ATT113
        return self.out(torch.bmm(w, self.proj_v(x)))


torch.manual_seed(0)
attn = Attention(8)
loss = attn(torch.randn(2, 4, 8)).pow(2).mean()
loss.backward()
print("loss", loss.item(), attn.proj_q.weight.grad)
