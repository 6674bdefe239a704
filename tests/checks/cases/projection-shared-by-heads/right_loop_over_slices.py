import torch
import torch.nn as nn


class MultiHead(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.wq = nn.ModuleList(nn.Linear(self.dk, self.dk) for _ in range(h))
        self.wk = nn.ModuleList(nn.Linear(self.dk, self.dk) for _ in range(h))
        self.wv = nn.ModuleList(nn.Linear(self.dk, self.dk) for _ in range(h))
        self.wo = nn.Linear(d, d)

    def forward(self, x):
        outs = []
        for i in range(self.h):
            part = x[..., i * self.dk:(i + 1) * self.dk]
            q = self.wq[i](part)
            k = self.wk[i](part)
            v = self.wv[i](part)
            w = torch.softmax(q @ k.transpose(-2, -1) / self.dk ** 0.5, dim=-1)
            outs.append(w @ v)
        return self.wo(torch.cat(outs, dim=-1))


torch.manual_seed(0)
print(MultiHead(12, 3)(torch.randn(2, 5, 12)).shape)
