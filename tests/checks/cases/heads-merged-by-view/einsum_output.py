import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, c // self.heads) for f in (self.to_q, self.to_k, self.to_v))
        a = torch.einsum("bihd,bjhd->bhij", q, k) * (c // self.heads) ** -0.5
        y = torch.einsum("bhij,bjhd->bhid", a.softmax(-1), v)
        return self.to_out(y.reshape(b, n, c))  # expect: ATT042


torch.manual_seed(0)
print(Attention(10, 2)(torch.randn(3, 5, 10)).shape)
