"""Grouped queries: g groups share a key head; the letters differ and are right."""
import torch
import torch.nn as nn

torch.manual_seed(257)
B, L, G, R, d = 2, 5, 2, 3, 4
x = torch.randn(B, L, 10)
q = nn.Linear(10, G * R * d)(x).view(B, L, G, R, d)
k = nn.Linear(10, G * d)(x).view(B, L, G, d)
v = nn.Linear(10, G * d)(x).view(B, L, G, d)
s = torch.einsum("bqgrd,bkgd->bgrqk", q, k) / d ** 0.5
o = torch.einsum("bgrqk,bkgd->bqgrd", s.softmax(-1), v)
print(o.reshape(B, L, -1).shape)
