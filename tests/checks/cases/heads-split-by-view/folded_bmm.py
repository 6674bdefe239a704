import torch
import torch.nn as nn


class Attention(nn.Module):
    """Heads are folded into the batch for bmm."""

    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))

    def shape(self, t, b, n):
        return t.view(b * self.h, n, self.dk)  # expect: ATT041

    def forward(self, x):
        b, n, d = x.size()
        q = self.shape(self.q_proj(x) * self.dk ** -0.5, b, n)
        k = self.shape(self.k_proj(x), b, n)
        v = self.shape(self.v_proj(x), b, n)
        w = torch.bmm(q, k.transpose(1, 2)).softmax(dim=-1)
        y = torch.bmm(w, v).view(b, self.h, n, self.dk).transpose(1, 2).reshape(b, n, d)
        return self.out_proj(y)


torch.manual_seed(9)
print(Attention(12, 3)(torch.randn(2, 5, 12)).sum())
