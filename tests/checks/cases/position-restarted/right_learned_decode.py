import math

import torch
from torch import nn


class TinyGPT(nn.Module):
    def __init__(self, vocab, d_model, n_heads, max_len=32):
        super().__init__()
        self.n_heads = n_heads
        self.tok, self.pos = nn.Embedding(vocab, d_model), nn.Embedding(max_len, d_model)
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.o_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.head = nn.Linear(d_model, vocab)

    def shape(self, t):
        return t.view(t.size(0), t.size(1), self.n_heads, -1).transpose(1, 2)

    def forward(self, ids, past=None):
        n = ids.size(1)
        start = 0 if past is None else past[0].size(2)
        positions = torch.arange(start, start + n)
        x = self.tok(ids) + self.pos(positions)
        q, k, v = self.shape(self.q_proj(x)), self.shape(self.k_proj(x)), self.shape(self.v_proj(x))
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        mask = torch.ones(n, k.size(2), dtype=torch.bool).tril(start)
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        y = (weights @ v).transpose(1, 2).flatten(2)
        return self.head(x + self.o_proj(y)), (k, v)


torch.manual_seed(0)
model = TinyGPT(17, 12, 3)
ids = torch.randint(0, 17, (2, 4))
with torch.no_grad():
    logits, past = model(ids)
    for _ in range(3):
        new = logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat((ids, new), dim=1)
        logits, past = model(new, past)
print(ids)
