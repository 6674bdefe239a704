import torch
import torch.nn as nn


class Attention(nn.Module):
    """x is cut into heads first, then each head is projected."""

    def __init__(self, heads, d):
        super().__init__()
        self.heads = heads
        self.wq = nn.Parameter(torch.randn(d, d) / d ** 0.5)
        self.wk = nn.Parameter(torch.randn(d, d) / d ** 0.5)
        self.wv = nn.Parameter(torch.randn(d, d) / d ** 0.5)
        self.out = nn.Linear(heads * d, heads * d)

    def forward(self, x):
        xh = x.unflatten(-1, (self.heads, -1))
        q = torch.einsum("blhd,de->bhle", xh, self.wq)  # expect: ATT037
        k = torch.einsum("blhd,de->bhle", xh, self.wk)  # expect: ATT037
        v = torch.einsum("blhd,de->bhle", xh, self.wv)  # expect: ATT037
        w = torch.softmax(torch.einsum("bhie,bhje->bhij", q, k) / q.shape[-1] ** 0.5, dim=-1)
        y = torch.einsum("bhij,bhje->bihe", w, v)
        return self.out(y.flatten(-2))


torch.manual_seed(1)
print(Attention(3, 4)(torch.randn(2, 6, 12)).std())
