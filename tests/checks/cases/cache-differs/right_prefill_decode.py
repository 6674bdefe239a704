import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        self.k = k if self.k is None else torch.cat((self.k, k), dim=-2)
        self.v = v if self.v is None else torch.cat((self.v, v), dim=-2)
        return self.k, self.v


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv, self.o, self.ln = h, nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d)

    def forward(self, x, cache):
        b, n, d = x.shape
        q, k, v = self.qkv(self.ln(x)).view(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        k, v = cache.update(k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=n == k.size(2))
        return x + self.o(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
emb, pos, head = nn.Embedding(13, 12), nn.Embedding(32, 12), nn.Linear(12, 13)
layers = nn.ModuleList(Layer(12, 3) for _ in range(2))


@torch.no_grad()
def run(ids, caches, start):
    x = emb(ids) + pos(torch.arange(start, start + ids.size(1)))
    for layer, cache in zip(layers, caches):
        x = layer(x, cache)
    return head(x)


ids = torch.randint(0, 13, (2, 4))
caches = [KVCache() for _ in layers]
logits = run(ids, caches, 0)
for _ in range(3):
    ids = torch.cat((ids, logits[:, -1:].argmax(-1)), dim=1)
    logits = run(ids[:, -1:], caches, ids.size(1) - 1)
full = run(ids, [KVCache() for _ in layers], 0)
print(torch.allclose(full[:, -1], logits[:, -1], atol=1e-5))
