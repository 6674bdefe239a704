import torch
import torch.nn as nn


class CausalHead(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(n_embd, n_embd, bias=False) for _ in range(3))

    def forward(self, x):
        T = x.size(1)
        q, k, v = self.q(x), self.k(x), self.v(x)
        att = torch.bmm(q.mT, k) / q.size(-1) ** 0.5  # expect: ATT021
        att = att.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        return torch.bmm(att.softmax(-1), v)


torch.manual_seed(203)
print(CausalHead(6)(torch.randn(3, 6, 6)).shape)
