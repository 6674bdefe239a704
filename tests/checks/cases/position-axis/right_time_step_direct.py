import torch
import torch.nn.functional as F
from torch import nn

# denoiser: every image of the batch has its own noise level t
torch.manual_seed(12)
B, N, C = 3, 5, 8
w = 10000.0 ** (-torch.arange(0, C, 2) / C)
t = torch.arange(B) * 100
emb = torch.cat([torch.sin(t[:, None] * w), torch.cos(t[:, None] * w)], dim=1)
pos = nn.Parameter(torch.randn(N, C) * 0.02)
x = torch.randn(B, N, C) + pos
x = x + emb.unsqueeze(1)
to_qkv = nn.Linear(C, 3 * C)
q, k, v = to_qkv(x).chunk(3, dim=-1)
print(F.scaled_dot_product_attention(q, k, v).shape)
