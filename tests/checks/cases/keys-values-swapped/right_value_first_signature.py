import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    """The order of the arguments is values, keys, queries throughout."""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.values = nn.Linear(d, d)
        self.keys = nn.Linear(d, d)
        self.queries = nn.Linear(d, d)
        self.fc_out = nn.Linear(d, d)

    def forward(self, values, keys, query, mask=None):
        n = query.shape[0]
        d_k = query.shape[-1] // self.h
        v = self.values(values).reshape(n, -1, self.h, d_k)
        k = self.keys(keys).reshape(n, -1, self.h, d_k)
        q = self.queries(query).reshape(n, -1, self.h, d_k)
        energy = torch.einsum("nqhd,nkhd->nhqk", [q, k])
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / d_k ** 0.5, dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, v]).flatten(2)
        return self.fc_out(out)


torch.manual_seed(0)
mha = MultiHeadAttention(12, 3)
enc, dec = torch.randn(2, 6, 12), torch.randn(2, 4, 12)
print(mha(enc, enc, dec).shape)
