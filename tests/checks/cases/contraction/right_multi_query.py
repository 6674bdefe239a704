import torch
import torch.nn as nn

torch.manual_seed(259)
B, L, H, d = 2, 5, 3, 4
x = torch.randn(B, L, H * d)
q = nn.Linear(H * d, H * d)(x).view(B, L, H, d)
k, v = nn.Linear(H * d, 2 * d)(x).chunk(2, -1)
s = torch.einsum("bqhd,bkd->bhqk", q, k) * d ** -0.5
o = torch.einsum("bhqk,bkd->bqhd", s.softmax(-1), v)
print(o.reshape(B, L, H * d).shape)
