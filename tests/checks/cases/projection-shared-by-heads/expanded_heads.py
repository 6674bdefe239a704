# 只有一套小投影，然后“复制”成多个头
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q = nn.Linear(d, self.dk)
        self.k = nn.Linear(d, self.dk)
        self.v = nn.Linear(d, self.dk)
        self.o = nn.Linear(d, d)

    def heads(self, t):
        return t.unsqueeze(1).expand(-1, self.h, -1, -1)

    def forward(self, x):
        q = self.heads(self.q(x))  # expect: ATT037
        k, v = self.heads(self.k(x)), self.heads(self.v(x))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
