import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, dim, p, is_train=True):
        super().__init__()
        self.p = p
        self.is_train = is_train
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)

    def forward(self, x, memory):
        q = self.q(x)
        k, v = self.kv(memory).chunk(2, dim=-1)
        w = F.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1]), dim=-1)
        w = F.dropout(w, self.p, training=self.is_train)  # expect: ATT101
        return torch.bmm(w, v)


torch.manual_seed(0)
net = CrossAttention(12, 0.1)
# 评估
net.eval()
print(net(torch.randn(2, 5, 12), torch.randn(2, 7, 12)).sum().item())
