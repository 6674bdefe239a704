import torch
import torch.nn as nn


class Attention(nn.Module):
    """No merge at all: the output matrix has an axis for the heads, and sums over it."""

    def __init__(self, D, H):
        super().__init__()
        d = D // H
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(H, D, d) / D ** 0.5) for _ in range(3))
        self.wo = nn.Parameter(torch.randn(H, d, D) / D ** 0.5)

    def forward(self, x):
        q, k, v = (torch.einsum("bld,hde->bhle", x, w) for w in (self.wq, self.wk, self.wv))
        a = torch.einsum("bhie,bhje->bhij", q, k) / q.size(-1) ** 0.5
        return torch.einsum("bhij,bhje,hed->bid", a.softmax(dim=-1), v, self.wo)


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
