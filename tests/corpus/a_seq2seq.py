import torch
import torch.nn as nn

torch.manual_seed(24)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, t):
        B, L, D = t.shape
        return t.reshape(B, L, self.heads, D // self.heads).transpose(1, 2)

    def forward(self, x, mem, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(mem)), self.split(self.v(mem))
        s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        s = s.masked_fill(~mask, -1e9)
        w = s.softmax(-1)
        return self.o((w @ v).transpose(1, 2).flatten(2))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn, self.norm = Attention(dim, heads), nn.LayerNorm(dim)

    def forward(self, x, pad):
        return self.norm(x + self.attn(x, x, pad))


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.self_attn, self.cross_attn = Attention(dim, heads), Attention(dim, heads)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, y, mem, causal, pad):
        y = self.norm1(y + self.self_attn(y, y, causal))
        return self.norm2(y + self.cross_attn(y, mem, pad))


class Seq2Seq(nn.Module):
    def __init__(self, n_src, n_tgt, dim=12, heads=3, layers=2):
        super().__init__()
        self.src, self.tgt = nn.Embedding(n_src, dim), nn.Embedding(n_tgt, dim)
        self.enc = nn.ModuleList(EncoderLayer(dim, heads) for _ in range(layers))
        self.dec = nn.ModuleList(DecoderLayer(dim, heads) for _ in range(layers))
        self.out = nn.Linear(dim, n_tgt)

    def forward(self, src, tgt):
        pad = (src != 0)[:, None, None, :]
        n = tgt.size(1)
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        h, y = self.src(src), self.tgt(tgt)
        for layer in self.enc:
            h = layer(h, pad)
        for layer in self.dec:
            y = layer(y, h, causal, pad)
        return self.out(y)


src = torch.tensor([[4, 7, 2, 9, 5, 1, 8], [3, 6, 2, 5, 0, 0, 0]])
tgt = torch.tensor([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
logits = Seq2Seq(10, 6)(src, tgt)
print(logits.shape, logits.sum().item())
