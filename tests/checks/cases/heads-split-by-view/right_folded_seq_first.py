import torch
import torch.nn as nn


class Attention(nn.Module):
    """Length first: batch and heads lie side by side, so one view and one transpose will do."""

    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        n, b, d = x.shape
        q, k, v = (w(x).contiguous().view(n, b * self.h, self.dk).transpose(0, 1) for w in (self.wq, self.wk, self.wv))
        a = torch.bmm(q / self.dk ** 0.5, k.transpose(1, 2)).softmax(dim=-1)
        y = torch.bmm(a, v).transpose(0, 1).contiguous().view(n, b, d)
        return self.wo(y)


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(5, 2, 12)).shape)
