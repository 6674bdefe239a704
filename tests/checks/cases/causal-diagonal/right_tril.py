import torch
from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (w(x).view(b, l, self.h, d // self.h).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        mask = torch.ones(l, l, dtype=torch.bool).tril(diagonal=0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.wo(y.transpose(1, 2).reshape(b, l, d))


torch.manual_seed(1)
print(Attention(12, 3)(torch.randn(2, 5, 12))[0, 1])
