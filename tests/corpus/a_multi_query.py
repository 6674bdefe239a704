import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    """Many query heads, one head of keys and values."""

    def __init__(self, d, h, d_k, d_v):
        super().__init__()
        self.P_q = nn.Parameter(torch.randn(h, d, d_k) * d ** -0.5)
        self.P_k = nn.Parameter(torch.randn(d, d_k) * d ** -0.5)
        self.P_v = nn.Parameter(torch.randn(d, d_v) * d ** -0.5)
        self.P_o = nn.Parameter(torch.randn(h, d, d_v) * d_v ** -0.5)

    def forward(self, X, M):
        Q = torch.einsum("bnd,hdk->bhnk", X, self.P_q)
        K = torch.einsum("bmd,dk->bmk", M, self.P_k)
        V = torch.einsum("bmd,dv->bmv", M, self.P_v)
        logits = torch.einsum("bhnk,bmk->bhnm", Q, K)
        weights = torch.softmax(logits, dim=-1)
        O = torch.einsum("bhnm,bmv->bhnv", weights, V)
        return torch.einsum("bhnv,hdv->bnd", O, self.P_o)


torch.manual_seed(26)
mqa = MultiQueryAttention(d=13, h=4, d_k=5, d_v=7)
x = torch.randn(2, 6, 13)
print(mqa(x, x).shape)
print(mqa(x, torch.randn(2, 9, 13)).shape)
