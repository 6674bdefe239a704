import torch
from torch import nn

# turning both the other way round changes nothing: only the difference of positions counts
torch.manual_seed(1)
x = torch.randn(2, 5, 12)
q, k, v = nn.Linear(12, 12)(x), nn.Linear(12, 12)(x), nn.Linear(12, 12)(x)
ang = torch.outer(torch.arange(5), 10000 ** (-torch.arange(6) / 6)).repeat(1, 2)


def rope(t):
    a, b = t.chunk(2, -1)
    return t * ang.cos() + torch.cat((b, -a), -1) * ang.sin()


w = torch.softmax(rope(q) @ rope(k).transpose(1, 2) / 12**0.5, -1)
print((w @ v).mean())
