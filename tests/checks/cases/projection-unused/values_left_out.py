import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.query = nn.Linear(d, d)
        self.key = nn.Linear(d, d)
        self.value = nn.Linear(d, d)  # expect: ATT034

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-2, -1)
        weights = torch.softmax(scores / x.size(-1) ** 0.5, dim=-1)
        return weights @ x


torch.manual_seed(0)
layer = SelfAttention(8)
print(layer(torch.randn(2, 4, 8)))
