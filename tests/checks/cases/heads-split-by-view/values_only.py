import torch
import torch.nn as nn


class Attn(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.d = heads, dim // heads
        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Linear(dim, dim)
        self.to_v = nn.Linear(dim, dim)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.to_q(x).view(b, n, self.heads, self.d).permute(0, 2, 1, 3)
        k = self.to_k(x).view(b, n, self.heads, self.d).permute(0, 2, 1, 3)
        v = self.to_v(x).view(b, self.heads, n, self.d)  # expect: ATT041
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.d ** -0.5
        out = torch.einsum("bhij,bhjd->bhid", dots.softmax(dim=-1), v)
        return self.to_out(out.permute(0, 2, 1, 3).reshape(b, n, -1))


torch.manual_seed(0)
print(Attn(12, 3)(torch.randn(2, 6, 12)).norm())
