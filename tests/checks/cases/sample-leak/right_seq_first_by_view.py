import torch
from torch import nn

# nn.MultiheadAttention 默认要求 [seq_len, batch, d_model]
torch.manual_seed(6)
B, L, D = 2, 5, 12
x = torch.randn(B, L, D)
mha = nn.MultiheadAttention(D, 3)
x_t = x.transpose(0, 1)
out, weights = mha(x_t, x_t, x_t)
print("输出:", out.shape, "权重:", weights.shape)
