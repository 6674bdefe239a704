import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, p=0.2, mc_dropout=False):
        super().__init__()
        self.p, self.mc_dropout = p, mc_dropout
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        w = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1)
        w = F.dropout(w, self.p, training=self.training or self.mc_dropout)
        return w @ v


torch.manual_seed(0)
model = Attention(8, mc_dropout=True).eval()
x = torch.randn(2, 4, 8)
samples = torch.stack([model(x) for _ in range(5)])
print("uncertainty:", samples.var(0).mean().item())
