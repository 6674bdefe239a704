import torch
import torch.nn as nn


class Attention(nn.Module):
    """Input is (length, batch, width), as torch's own layers have it."""

    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        n, b, d = x.shape
        q = self.wq(x).view(b, self.h, n, self.dk)  # expect: ATT041
        k = self.wk(x).view(b, self.h, n, self.dk)  # expect: ATT041
        v = self.wv(x).view(b, self.h, n, self.dk)  # expect: ATT041
        a = (q @ k.transpose(-2, -1) / self.dk ** 0.5).softmax(-1)
        y = (a @ v).permute(2, 0, 1, 3).reshape(n, b, d)
        return self.wo(y)


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(5, 2, 12)).shape)
