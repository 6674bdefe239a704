import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dh = heads, dim // heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        B, N, D = x.shape
        q, k, v = self.qkv(x).view(B, N, 3, self.heads, self.dh).permute(2, 0, 3, 1, 4)
        sim = torch.einsum("bhnd,bhne->bhde", q, k) * self.dh ** -0.5  # expect: ATT021
        attn = sim.softmax(dim=-1)
        out = torch.einsum("bhde,bhne->bhnd", attn, v)
        return self.proj(out.transpose(1, 2).reshape(B, N, D))


torch.manual_seed(202)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
