import torch
from torch import nn

# xPos: q grows with its position and k shrinks, the product still depends on the distance alone
torch.manual_seed(4)
n, d = 5, 8
x = torch.randn(2, n, d)
t = torch.arange(n).float()
ang = torch.outer(t, 10000 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
zeta = (torch.arange(0, d, 2) + 0.4 * d) / (1.4 * d)
scale = (zeta ** (t[:, None] / 16)).repeat(1, 2)


def turn(u):
    a, b = u.chunk(2, -1)
    return u * ang.cos() + torch.cat((-b, a), -1) * ang.sin()


q, k, v = nn.Linear(d, d)(x), nn.Linear(d, d)(x), nn.Linear(d, d)(x)
q, k = turn(q) * scale, turn(k) / scale
s = (q @ k.transpose(1, 2) / d**0.5).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
print((s.softmax(-1) @ v).norm())
