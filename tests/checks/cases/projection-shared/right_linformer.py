import torch
import torch.nn as nn


class LinformerSelfAttention(nn.Module):
    """Keys and values shortened along the sequence; both by the same matrix, as the paper allows."""

    def __init__(self, dim, seq_len, k, heads):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.shorten = nn.Parameter(torch.randn(seq_len, k) / seq_len ** 0.5)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        h, dh = self.heads, d // self.heads
        q = self.to_q(x).reshape(b, n, h, dh).transpose(1, 2)
        k = torch.einsum("bnd,nk->bkd", self.to_k(x), self.shorten)
        v = torch.einsum("bnd,nk->bkd", self.to_v(x), self.shorten)
        k, v = (t.reshape(b, -1, h, dh).transpose(1, 2) for t in (k, v))
        att = torch.einsum("bhnd,bhkd->bhnk", q, k) * dh ** -0.5
        out = torch.einsum("bhnk,bhkd->bhnd", att.softmax(-1), v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(LinformerSelfAttention(12, 7, 4, 3)(torch.randn(2, 7, 12)).shape)
