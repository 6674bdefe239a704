import torch
from torch import nn

torch.manual_seed(2)
L, B, D = 5, 2, 12
x = torch.randn(L, B, D)
mha = nn.MultiheadAttention(D, 3)
mask = torch.full((L, L), float("-inf")).triu(1)
y, w = mha(x, x, x, attn_mask=mask)
print(w[0])
