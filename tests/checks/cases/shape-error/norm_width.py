import torch
from torch import nn

torch.manual_seed(0)
B, L, D = 2, 5, 12
x = torch.randn(B, L, D)
attn = nn.MultiheadAttention(D, 3, batch_first=True)
norm = nn.LayerNorm(L)
h, _ = attn(x, x, x)
y = norm(x + h)  # expect: ATT121
print(y.shape)
