import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]  # expect: ATT024
        return x + self.mlp(self.ln2(x))


class TextClassifier(nn.Module):
    def __init__(self, vocab, dim, heads, classes, max_len):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(max_len, dim)
        self.block = Block(dim, heads)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        B, L = ids.shape
        x = self.tok(ids) + self.pos(torch.arange(L, device=ids.device))
        return self.head(self.block(x).mean(dim=1))


torch.manual_seed(233)
print(TextClassifier(20, 12, 3, 4, 10)(torch.randint(0, 20, (2, 7))).shape)
