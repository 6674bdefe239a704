import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Linear(d_model, d_model, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        scores = torch.matmul(q, k.transpose(-2, -1))
        weights = F.softmax(scores / math.sqrt(q.size(-1)), dim=-1)
        return torch.matmul(weights, v)


torch.manual_seed(170)
print(SelfAttention(8)(torch.randn(2, 4, 8)))
