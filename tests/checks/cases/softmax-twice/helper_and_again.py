import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def attention_weights(q, k):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    return F.softmax(scores, dim=-1)


class SelfAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.wq, self.wk, self.wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        weights = attention_weights(self.wq(x), self.wk(x))
        weights = F.softmax(weights, dim=-1)  # expect: ATT003
        return weights @ self.wv(x)


torch.manual_seed(40)
print(SelfAttention(8)(torch.randn(2, 4, 8)).shape)
