import torch
import torch.nn as nn


class AbsorbedLatentAttention(nn.Module):
    """Keys and values are both the latent cache; the up-projection of the values comes after the sum."""

    def __init__(self, dim, heads, rank, d):
        super().__init__()
        self.q = nn.Parameter(torch.randn(dim, heads, rank) / dim ** 0.5)
        self.down = nn.Linear(dim, rank, bias=False)
        self.up_v = nn.Parameter(torch.randn(heads, rank, d) / rank ** 0.5)
        self.out = nn.Linear(heads * d, dim)
        self.scale = rank ** -0.5

    def forward(self, x):
        c = self.down(x)
        q = torch.einsum("bld,dhr->bhlr", x, self.q)
        a = torch.softmax(torch.einsum("bhir,bjr->bhij", q, c) * self.scale, dim=-1)
        latent = torch.einsum("bhij,bjr->bhir", a, c)
        v = torch.einsum("bhir,hrd->bihd", latent, self.up_v)
        return self.out(v.flatten(2))


torch.manual_seed(0)
print(AbsorbedLatentAttention(12, 3, 5, 4)(torch.randn(2, 6, 12)).shape)
