import torch
import torch.nn as nn

torch.manual_seed(111)
B, L, D, H = 2, 5, 12, 3
x = torch.randn(B, L, D)
to_qkv = nn.Linear(D, 3 * D)
q, k, v = (t.view(B, L, H, D // H).transpose(1, 2) for t in to_qkv(x).chunk(3, -1))
# d^-1/4 on each side keeps half precision in range
s = (D // H) ** -0.25
w = ((q * s) @ (k * s).transpose(-1, -2)).softmax(-1)
print((w @ v).transpose(1, 2).reshape(B, L, D).shape)
