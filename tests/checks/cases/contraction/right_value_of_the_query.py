import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.scale = dim ** -0.5

    def forward(self, x):
        n = x.size(1)
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        sim = torch.einsum("bid,bjd->bij", q, k) * self.scale
        sim = sim.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
        attn = sim.softmax(dim=-1)
        return torch.einsum("bij,bjd->bid", attn, v)


torch.manual_seed(253)
print(CausalAttention(8)(torch.randn(2, 5, 8)).shape)
