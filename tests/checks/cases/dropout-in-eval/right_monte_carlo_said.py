import torch
import torch.nn.functional as F
from torch import nn


class BayesianAttention(nn.Module):
    """Monte Carlo dropout: it stays on at test time, to draw from the posterior."""

    def __init__(self, d, p=0.2):
        super().__init__()
        self.p = p
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        w = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
        w = F.dropout(w, self.p, training=True)
        return w @ v


torch.manual_seed(0)
model = BayesianAttention(8).eval()
x = torch.randn(2, 4, 8)
samples = torch.stack([model(x) for _ in range(5)])
print(samples.mean(0), samples.std(0))
