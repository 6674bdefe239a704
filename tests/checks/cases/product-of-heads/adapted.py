import torch
import torch.nn.functional as F
from torch import nn


class Adapted(nn.Module):
    def __init__(self, d, rank):
        super().__init__()
        self.base, self.down, self.up = nn.Linear(d, d), nn.Linear(d, rank), nn.Linear(rank, d)

    def forward(self, x):
        return self.base(x) + 0.5 * self.up(self.down(x))


torch.manual_seed(15)
b, n, d, h = 2, 7, 12, 3
x = torch.randn(b, n, d)
q, k, v = (Adapted(d, 2)(x).view(b, n, h, d // h) for _ in range(3))
y = F.scaled_dot_product_attention(q, k, v)  # expect: ATT026
print(y.reshape(b, n, d).shape)
