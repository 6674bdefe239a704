import torch
import torch.nn as nn


class SeqFirstAttention(nn.Module):
    """Takes x of shape [L, B, D]."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dh = heads, dim // heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        L, B, D = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.reshape(L, B * self.heads, self.dh).transpose(0, 1) for t in (q, k, v))
        w = torch.softmax(torch.bmm(q, k.transpose(1, 2)) * self.dh ** -0.5, dim=-1)
        return self.proj(torch.bmm(w, v).transpose(0, 1).reshape(L, B, D))


torch.manual_seed(235)
attn = SeqFirstAttention(12, 3)
batch_size, seq_len = 2, 5
embedding = nn.Embedding(19, 12)
tokens = torch.randint(0, 19, (batch_size, seq_len))
out = attn(embedding(tokens).transpose(0, 1)).transpose(0, 1)
print(out.mean(dim=1).shape)
