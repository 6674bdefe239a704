import torch
from torch import nn
import torch.nn.functional as F


class TinyLM(nn.Module):
    def __init__(self, vocab, d, h):
        super().__init__()
        self.h = h
        self.emb, self.qkv, self.head = nn.Embedding(vocab, d), nn.Linear(d, 3 * d), nn.Linear(d, vocab)

    def forward(self, ids, past=None):
        b, n = ids.shape
        q, k, v = (t.view(b, n, self.h, -1).transpose(1, 2) for t in self.qkv(self.emb(ids)).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], -2), torch.cat([past[1], v], -2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # expect: ATT075
        return self.head(y.transpose(1, 2).flatten(2)), (k, v)


torch.manual_seed(2)
model = TinyLM(17, 12, 3).eval()
ids = torch.randint(0, 17, (2, 4))
with torch.no_grad():
    logits, past = model(ids)
    for _ in range(3):
        nxt = logits[:, -1:].argmax(-1)
        logits, past = model(nxt, past)
        print(nxt.squeeze(-1).tolist())
