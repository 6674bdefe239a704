import torch
import torch.nn.functional as F
from torch import nn

# rolling cache: keys are kept without rotation and turned by their place in the window
torch.manual_seed(0)
d, window = 8, 4


def rope(x):
    n = x.size(1)
    emb = torch.outer(torch.arange(n).float(), 10000 ** (-torch.arange(0, d, 2) / d)).repeat(1, 2)
    a, b = x.chunk(2, -1)
    return x * emb.cos() + torch.cat((-b, a), -1) * emb.sin()


wq, wk, wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
K, V, Q = torch.empty(2, 0, d), torch.empty(2, 0, d), torch.empty(2, 0, d)
with torch.no_grad():
    for t in range(7):
        x = torch.randn(2, 1, d)
        Q = torch.cat((Q, wq(x)), 1)[:, -window:]
        K, V = torch.cat((K, wk(x)), 1)[:, -window:], torch.cat((V, wv(x)), 1)[:, -window:]
        q = rope(Q)[:, -1:]
        y = F.scaled_dot_product_attention(q, rope(K), V)
print(y.shape)
