import torch
import torch.nn as nn
import torch.nn.functional as F


class MQA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * self.dk), nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.h, self.dk).transpose(1, 2)
        k, v = self.kv(x).split(self.dk, dim=-1)
        k = k.unsqueeze(1).repeat(1, self.h, 1, 1)
        v = v.unsqueeze(1).expand(-1, self.h, -1, -1)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(MQA(12, 3)(torch.randn(2, 5, 12)).shape)
