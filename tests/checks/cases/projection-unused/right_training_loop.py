import torch
import torch.nn as nn
import torch.nn.functional as F
class LM(nn.Module):
    def __init__(self, v, d, h):
        super().__init__()
        self.h = h
        self.emb, self.pos = nn.Embedding(v, d), nn.Parameter(torch.zeros(1, 16, d))
        self.ln, self.qkv, self.o, self.head = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, v)
    def forward(self, ids):
        b, n = ids.shape
        x = self.emb(ids) + self.pos[:, :n]
        q, k, v = self.qkv(self.ln(x)).chunk(3, -1)
        q, k, v = (t.view(b, n, self.h, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, -1)
        return self.head(x + self.o(y))
torch.manual_seed(0)
m = LM(11, 12, 3)
opt = torch.optim.AdamW(m.parameters(), 1e-2)
for step in range(20):
    ids = torch.randint(0, 11, (4, 8))
    loss = F.cross_entropy(m(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
