import torch
import torch.nn as nn


class EinsumAttention(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.wq = nn.Parameter(torch.randn(dim, heads, dim_head) * 0.2)
        self.wk = nn.Parameter(torch.randn(dim, heads, dim_head) * 0.2)
        self.wv = nn.Parameter(torch.randn(dim, heads, dim_head) * 0.2)
        self.wo = nn.Parameter(torch.randn(heads, dim_head, dim) * 0.2)
        self.scale = dim_head ** -0.5

    def forward(self, x):
        q = torch.einsum("bld,dhk->bhlk", x, self.wq)
        k = torch.einsum("bld,dhk->bhlk", x, self.wk)
        v = torch.einsum("bld,dhk->bhlk", x, self.wv)
        w = torch.einsum("bhik,bhjk->bhij", q, k).mul(self.scale).softmax(dim=-1)
        o = torch.einsum("bhij,bhjk->bhik", w, k)  # expect: ATT032
        return torch.einsum("bhlk,hkd->bld", o, self.wo)


torch.manual_seed(5)
print(EinsumAttention(10, 3, 4)(torch.randn(2, 6, 10)).sum())
