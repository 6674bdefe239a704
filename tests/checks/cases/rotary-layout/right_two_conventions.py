import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
batch_size, seq_len, n_heads, head_dim = 2, 6, 2, 8


def half(x, cos, sin):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


def pairs(x, cos, sin):
    x1, x2 = x[..., 0::2], x[..., 1::2]
    return torch.stack((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).flatten(-2)


x = torch.randn(batch_size, seq_len, n_heads * head_dim)
Wq = nn.Linear(n_heads * head_dim, n_heads * head_dim, bias=False)
Wk = nn.Linear(n_heads * head_dim, n_heads * head_dim, bias=False)
Wv = nn.Linear(n_heads * head_dim, n_heads * head_dim, bias=False)
q, k, v = (w(x).view(batch_size, seq_len, n_heads, head_dim).transpose(1, 2) for w in (Wq, Wk, Wv))
angle = torch.arange(seq_len)[:, None] / 10000 ** (torch.arange(0, head_dim, 2) / head_dim)
q = pairs(q, angle.cos(), angle.sin())
k = pairs(k, angle.cos(), angle.sin())
scores = q @ k.transpose(-2, -1) / head_dim**0.5
out = F.softmax(scores, dim=-1) @ v
print(out.shape)
