import torch
import torch.nn.functional as F
from torch import nn


class MLA(nn.Module):
    """Multi-head latent attention: a part of the width carries no position, the rotary part of k is shared by heads."""

    def __init__(self, dim, heads, nope=6, rope=4, latent=10):
        super().__init__()
        self.h, self.nope, self.rope = heads, nope, rope
        self.wq = nn.Linear(dim, heads * (nope + rope), bias=False)
        self.wkv_a = nn.Linear(dim, latent + rope, bias=False)
        self.wkv_b = nn.Linear(latent, heads * 2 * nope, bias=False)
        self.wo = nn.Linear(heads * nope, dim, bias=False)

    def rotate(self, x):
        ang = torch.outer(torch.arange(x.size(-2)), 10000 ** (-torch.arange(0, self.rope, 2) / self.rope)).repeat(1, 2)
        a, b = x.chunk(2, -1)
        return x * ang.cos() + torch.cat((-b, a), -1) * ang.sin()

    def forward(self, x):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.h, -1).transpose(1, 2)
        q_nope, q_pe = q.split([self.nope, self.rope], dim=-1)
        c, k_pe = self.wkv_a(x).split([self.wkv_a.out_features - self.rope, self.rope], dim=-1)
        k_nope, v = self.wkv_b(c).view(b, n, self.h, -1).transpose(1, 2).chunk(2, -1)
        k_pe = self.rotate(k_pe[:, None])
        q = torch.cat((q_nope, self.rotate(q_pe)), -1)
        k = torch.cat((k_nope, k_pe.expand(-1, self.h, -1, -1)), -1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
print(MLA(12, 3)(torch.randn(2, 5, 12)).shape)
