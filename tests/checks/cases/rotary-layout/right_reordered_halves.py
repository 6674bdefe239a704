import torch
import torch.nn.functional as F
from torch import nn

# reads pairs, writes halves: q and k are reordered alike, so the scores are the same
torch.manual_seed(0)
x = torch.randn(2, 5, 24)
q, k, v = (nn.Linear(24, 24)(x).view(2, 5, 3, 8).transpose(1, 2) for _ in range(3))
ang = torch.arange(5)[:, None] / 10000 ** (torch.arange(0, 8, 2) / 8)


def rotate(x):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.cat((a * ang.cos() - b * ang.sin(), a * ang.sin() + b * ang.cos()), dim=-1)


print(F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True).shape)
