import torch
from torch import nn


class SelfAttention(nn.Module):
    """多头自注意力，用 einsum 写"""

    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads, self.head_dim = heads, embed_size // heads
        self.values = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.queries = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, x):
        N, L, E = x.shape
        values = self.values(x).reshape(N, L, self.heads, self.head_dim)
        keys = self.keys(x).reshape(N, L, self.heads, self.head_dim)
        queries = self.queries(x).reshape(N, L, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        attention = torch.softmax(energy / self.head_dim ** 0.5, dim=3)
        out = torch.einsum("nhqk,nkhd->nqhd", [attention, values])
        return self.fc_out(out.reshape(N, L, E))


torch.manual_seed(252)
print(SelfAttention(8, 2)(torch.randn(2, 4, 8)).shape)
