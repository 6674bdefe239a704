import torch
import torch.nn.functional as F
from torch import nn


class NeoXAttention(nn.Module):
    def __init__(self, hidden, heads, pct=0.25):
        super().__init__()
        self.heads, self.hd = heads, hidden // heads
        self.rot = int(self.hd * pct)
        self.query_key_value, self.dense = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.register_buffer("inv_freq", 1.0 / (10000 ** (torch.arange(0, self.rot, 2).float() / self.rot)))

    def rotary(self, x, cos, sin):
        rot, rest = x[..., : self.rot], x[..., self.rot :]
        a, b = rot.chunk(2, -1)
        return torch.cat((rot * cos + torch.cat((-b, a), -1) * sin, rest), dim=-1)

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.query_key_value(x).view(b, n, self.heads, 3 * self.hd)
        q, k, v = (t.permute(0, 2, 1, 3) for t in qkv.chunk(3, dim=-1))
        emb = torch.outer(torch.arange(n).float(), self.inv_freq).repeat(1, 2)
        q, k = self.rotary(q, emb.cos(), emb.sin()), self.rotary(k, emb.cos(), emb.sin())
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.dense(y.transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(2)
print(NeoXAttention(48, 3)(torch.randn(2, 5, 48)).shape)
