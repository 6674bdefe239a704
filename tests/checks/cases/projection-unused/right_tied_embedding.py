import torch
import torch.nn as nn
import torch.nn.functional as F


class TinyLM(nn.Module):
    def __init__(self, vocab, d, h, max_len):
        super().__init__()
        self.h = h
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(max_len, d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)
        self.lm_head = nn.Linear(d, vocab, bias=False)
        self.lm_head.weight = self.tok.weight

    def forward(self, ids):
        B, T = ids.shape
        x = self.tok(ids) + self.pos(torch.arange(T))
        q, k, v = self.qkv(self.norm(x)).split(x.size(-1), dim=2)
        q, k, v = (t.view(B, T, self.h, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, -1))
        return F.linear(x, self.tok.weight)


torch.manual_seed(0)
model = TinyLM(11, 12, 3, 8)
ids = torch.randint(0, 11, (2, 6))
logits = model(ids)
print(F.cross_entropy(logits[:, :-1].reshape(-1, 11), ids[:, 1:].reshape(-1)))
