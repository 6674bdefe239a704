import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
B, L, H, d = 2, 5, 3, 4
log_slope = nn.Parameter(torch.zeros(H, 1, 1))
x = torch.randn(B, L, H * d)
q, k, v = (nn.Linear(H * d, H * d)(x).view(B, L, H, d).transpose(1, 2) for _ in range(3))
rel = (torch.arange(L)[None, :] - torch.arange(L)[:, None]).abs()
print(F.scaled_dot_product_attention(q, k, v, attn_mask=-log_slope.exp() * rel).shape)
