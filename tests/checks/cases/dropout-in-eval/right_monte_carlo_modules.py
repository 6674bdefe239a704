# MC dropout: the dropout layers alone are put back into training mode.
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        w = self.drop(torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-1))
        return w @ v


torch.manual_seed(0)
model = nn.Sequential(Attention(8), nn.Linear(8, 1))
model.eval()
for m in model.modules():
    if isinstance(m, nn.Dropout):
        m.train()
x = torch.randn(2, 4, 8)
with torch.no_grad():
    draws = torch.stack([model(x) for _ in range(8)])
print("mean", draws.mean(0).flatten(), "std", draws.std(0).flatten())
