import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(133)
B, L, D, H = 2, 6, 12, 3
x = torch.randn(B, L, D)
qkv = nn.Linear(D, 3 * D)
q, k, v = (t.view(B, L, H, D // H).transpose(1, 2) for t in qkv(x).split(D, dim=-1))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1 / math.sqrt(D))  # expect: ATT012
print(y.transpose(1, 2).reshape(B, L, D).shape)
