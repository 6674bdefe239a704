import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
B, H, L, d = 2, 8, 5, 4
x = torch.randn(B, L, H * d)
q, k, v = (nn.Linear(H * d, H * d)(x).view(B, L, H, d).transpose(1, 2) for _ in range(3))

# ALiBi 的斜率: 2^(-8/H), 2^(-16/H), ...
slopes = torch.pow(2.0, -torch.arange(1, H + 1) * 8 / H)
rel = torch.arange(L)[None, :] - torch.arange(L)[:, None]
bias = slopes[:, None, None] * rel.float()
bias = bias.masked_fill(rel > 0, float("-inf"))
out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
print("输出", out.shape)
