import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.dh = heads, d // heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.drop = nn.Dropout(0.1)

    def forward(self, x, memory):
        B, N, D = x.shape
        q = self.q(x).view(B, N, self.heads, self.dh).transpose(1, 2)
        k = self.k(memory).view(B, -1, self.heads, self.dh).transpose(1, 2)
        v = self.v(memory).view(B, -1, self.heads, self.dh).transpose(1, 2)
        w = F.softmax(q @ k.mT / math.sqrt(self.dh), dim=-1)
        w = self.drop(torch.softmax(w, -1))  # expect: ATT003
        return self.o((w @ v).transpose(1, 2).flatten(2))


torch.manual_seed(43)
layer = CrossAttention(12, 3).eval()
print("交叉注意力:", layer(torch.randn(2, 4, 12), torch.randn(2, 6, 12)).shape)
