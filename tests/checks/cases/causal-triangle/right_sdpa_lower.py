import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.norm = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        i = torch.arange(n)
        mask = i[:, None] >= i[None, :]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x + self.proj(y.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(1)
V = 13
ids = torch.randint(0, V, (2, 6))
embed, block, head = nn.Embedding(V, 12), Block(12, 3), nn.Linear(12, V)
logits = head(block(embed(ids)))
loss = F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1))
print(loss.item())
