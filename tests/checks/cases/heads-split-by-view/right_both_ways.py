import torch
import torch.nn as nn


class MultiHead(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.linear_q, self.linear_k, self.linear_v, self.linear_o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, query, key, value):
        b, d = query.size(0), query.size(2)
        q = self.linear_q(query).view(b, -1, self.h, d // self.h).transpose(1, 2)
        k = self.linear_k(key).view(b, -1, self.h, d // self.h).transpose(1, 2)
        v = self.linear_v(value).view(b, -1, self.h, d // self.h).transpose(1, 2)
        p = torch.softmax(q @ k.transpose(-2, -1) / (d // self.h) ** 0.5, dim=-1)
        x = (p @ v).transpose(1, 2).reshape(b, -1, d)
        return self.linear_o(x)


torch.manual_seed(0)
x, mem = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
print(MultiHead(12, 3)(x, mem, mem).shape)
