import torch
from torch import nn

# 每个头里 q、k、v 交错存放；换一种编号，注意力还是同一个注意力
torch.manual_seed(0)
b, n, h, d = 2, 5, 3, 4
to_qkv, out = nn.Linear(12, 36), nn.Linear(12, 12)
x = torch.randn(b, n, 12)
q, k, v = to_qkv(x).view(b, n, h, d, 3).permute(4, 0, 2, 1, 3)
w = (q @ k.transpose(-2, -1) / d ** 0.5).softmax(-1)
print(out((w @ v).transpose(1, 2).reshape(b, n, h * d)).shape)
