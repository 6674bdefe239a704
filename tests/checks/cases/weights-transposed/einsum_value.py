import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dh = heads, dim // heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.dh).permute(2, 0, 3, 1, 4)
        attn = (torch.einsum("bhid,bhjd->bhij", q, k) * self.dh ** -0.5).softmax(dim=-1)
        out = torch.einsum("bhij,bhid->bhjd", attn, v)  # expect: ATT023
        return self.out(out.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(221)
print(Attention(12, 3)(torch.randn(2, 5, 12)).std().item())
