import torch
import torch.nn.functional as F
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def heads(self, t):
        return t.view(t.size(0), -1, self.h, self.dk).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.heads(self.wq(x)), self.heads(self.wk(x)), self.heads(self.wv(x))
        with torch.no_grad():  # expect: ATT113
            scores = torch.matmul(q, k.transpose(-2, -1)) / self.dk**0.5
            weights = F.softmax(scores, dim=-1)
        out = torch.matmul(weights, v).transpose(1, 2).flatten(2)
        return self.wo(out)


torch.manual_seed(0)
mha = MultiHead(12, 3)
x = torch.randn(2, 5, 12)
mha(x).sum().backward()
print({n: p.grad is not None for n, p in mha.named_parameters()})
