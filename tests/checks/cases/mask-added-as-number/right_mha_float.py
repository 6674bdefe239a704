import torch
from torch import nn

torch.manual_seed(2)
L, B, D, H = 5, 2, 12, 3
x = torch.randn(L, B, D)
attn = nn.MultiheadAttention(D, H)
mask = torch.triu(torch.full((L, L), float("-inf")), diagonal=1)
y, w = attn(x, x, x, attn_mask=mask)
print(w[0])
