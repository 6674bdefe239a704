import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, emb, heads):
        super().__init__()
        self.h = heads
        self.scale = (emb // heads) ** -0.5
        self.q, self.k, self.v, self.o = (nn.Linear(emb, emb) for _ in range(4))

    def forward(self, x):
        b, t, e = x.size()
        q, k, v = (f(x).view(b, t, self.h, e // self.h).transpose(1, 2) for f in (self.q, self.k, self.v))
        att = torch.einsum("bhid,bhjd->bhij", q, k)
        att = att.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
        att = att.softmax(dim=-1)
        att = att * self.scale  # expect: ATT015
        return self.o(torch.einsum("bhij,bhjd->bihd", att, v).reshape(b, t, e))


torch.manual_seed(171)
print(Attention(12, 3)(torch.randn(2, 5, 12)).sum().item())
