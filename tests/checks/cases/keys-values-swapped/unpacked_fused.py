import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, d, dk):
        super().__init__()
        self.dk = dk
        self.w_query = nn.Linear(d, dk)
        self.w_key = nn.Linear(d, dk)
        self.w_value = nn.Linear(d, dk)

    def project(self, x):
        return self.w_query(x), self.w_key(x), self.w_value(x)

    def forward(self, x):
        q, v, k = self.project(x)  # expect: ATT033
        att = torch.softmax(q @ k.transpose(-2, -1) * self.dk ** -0.5, -1)
        return att @ v


torch.manual_seed(0)
heads = nn.ModuleList(Head(8, 4) for _ in range(2))
x = torch.randn(2, 4, 8)
print(torch.cat([h(x) for h in heads], dim=-1).shape)
