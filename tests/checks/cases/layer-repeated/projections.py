import torch
import torch.nn as nn


class MultiHeadedAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model)] * 4)  # expect: ATT035

    def forward(self, query, key, value):
        n = query.size(0)
        query, key, value = [
            lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        scores = query @ key.transpose(-2, -1) / self.d_k ** 0.5
        x = scores.softmax(dim=-1) @ value
        x = x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](x)


torch.manual_seed(0)
x = torch.randn(2, 5, 12)
print(MultiHeadedAttention(3, 12)(x, x, x).norm())
