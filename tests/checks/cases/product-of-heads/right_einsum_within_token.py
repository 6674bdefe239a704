import torch
from torch import nn


class MHA(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.kv, self.o = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.heads, -1)
        k, v = self.kv(x).view(b, n, 2, self.heads, d // self.heads).unbind(2)
        sim = torch.einsum("bnhd,bmhd->bhnm", q, k) * q.size(-1) ** -0.5
        attn = sim.softmax(dim=-1)
        out = torch.einsum("bhnm,bmhd->bnhd", attn, v)
        return self.o(out.reshape(b, n, d))


torch.manual_seed(263)
print(MHA(8, 2)(torch.randn(2, 5, 8)).shape)
