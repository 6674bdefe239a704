import torch
import torch.nn.functional as F
from torch import nn

# left padding: every sample has its own positions
torch.manual_seed(6)
position_ids = torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]])
keep = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]).bool()
inv = 1.0 / 10000 ** (torch.arange(0, 4, 2) / 4)
freqs = (inv[None, :, None] @ position_ids[:, None, :].float()).transpose(1, 2)
emb = torch.cat((freqs, freqs), dim=-1)
cos, sin = emb.cos().unsqueeze(1), emb.sin().unsqueeze(1)


def rot(x):
    return torch.cat((-x[..., 2:], x[..., :2]), dim=-1)


x = torch.randn(2, 5, 12)
q, k, v = (nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
q, k = q * cos + rot(q) * sin, k * cos + rot(k) * sin
mask = torch.ones(5, 5).tril().bool() & keep[:, None, None, :]
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[1].shape)
