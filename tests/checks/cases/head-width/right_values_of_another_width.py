import torch
import torch.nn as nn

torch.manual_seed(0)
B, L, D, H, dk, dv = 2, 5, 10, 3, 4, 7
wq, wk, wv, wo = nn.Linear(D, H * dk), nn.Linear(D, H * dk), nn.Linear(D, H * dv), nn.Linear(H * dv, D)
x = torch.randn(B, L, D)
q = wq(x).view(B, L, H, dk).transpose(1, 2)
k = wk(x).view(B, L, H, dk).transpose(1, 2)
v = wv(x).view(B, L, H, dv).transpose(1, 2)
w = torch.softmax(q @ k.transpose(-2, -1) / dk ** 0.5, dim=-1)
print(wo((w @ v).transpose(1, 2).flatten(2)).shape)
