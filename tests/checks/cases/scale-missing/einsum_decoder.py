import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h, self.dh = heads, dim // heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q = self.to_q(x).view(b, n, self.h, self.dh)
        k, v = self.to_kv(x).view(b, n, 2, self.h, self.dh).unbind(2)
        sim = torch.einsum("bihd,bjhd->bhij", q, k)  # expect: ATT011
        causal = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        attn = sim.masked_fill(causal, -torch.finfo(sim.dtype).max).softmax(dim=-1)
        out = torch.einsum("bhij,bjhd->bihd", attn, v).reshape(b, n, d)
        return self.to_out(out)


torch.manual_seed(101)
print(CausalAttention(12, 3)(torch.randn(2, 5, 12)).sum().item())
