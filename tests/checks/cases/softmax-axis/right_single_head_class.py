import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    """单头自注意力"""

    def __init__(self, dim_in, dim_k, dim_v):
        super().__init__()
        self.query = nn.Linear(dim_in, dim_k, bias=False)
        self.key = nn.Linear(dim_in, dim_k, bias=False)
        self.value = nn.Linear(dim_in, dim_v, bias=False)
        self.norm = dim_k ** -0.5

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        dist = torch.bmm(q, k.transpose(1, 2)) * self.norm
        dist = torch.softmax(dist, dim=2)
        return torch.bmm(dist, v)


torch.manual_seed(1)
layer = SelfAttention(12, 6, 7)
y = layer(torch.randn(2, 5, 12))
print("输出:", y.shape, y.mean().item())
