import torch
import torch.nn.functional as F
from torch import nn


class TinyLM(nn.Module):
    def __init__(self, vocab, d, h):
        super().__init__()
        self.h = h
        self.emb, self.pos = nn.Embedding(vocab, d), nn.Embedding(32, d)
        self.qkv, self.head = nn.Linear(d, 3 * d), nn.Linear(d, vocab)

    def forward(self, ids):
        b, l = ids.shape
        x = self.emb(ids) + self.pos(torch.arange(l))
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(x + y.transpose(1, 2).reshape(b, l, -1))

    @torch.no_grad()
    def generate(self, ids, n):
        for _ in range(n):
            p = torch.softmax(self(ids)[:, -1] / 0.8, dim=-1)
            ids = torch.cat([ids, torch.multinomial(p, 1)], dim=1)
        return ids


torch.manual_seed(0)
lm = TinyLM(11, 12, 3).eval()
print(lm.generate(torch.tensor([[1, 2], [3, 4]]), 4))
