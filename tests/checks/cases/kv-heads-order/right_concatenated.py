# 分组查询注意力：4 个查询头，2 个键值头
import torch
import torch.nn as nn

torch.manual_seed(2)
B, L, D, H, G = 2, 5, 16, 4, 2
d = D // H
x = torch.randn(B, L, D)
Wq, Wk, Wv = nn.Linear(D, H * d), nn.Linear(D, G * d), nn.Linear(D, G * d)

q = Wq(x).view(B, L, H, d)
k = Wk(x).view(B, L, G, d)
v = Wv(x).view(B, L, G, d)
k = torch.stack([k] * (H // G), dim=3).flatten(2, 3)
v = torch.stack([v] * (H // G), dim=3).flatten(2, 3)

s = torch.einsum("blhd,bmhd->bhlm", q, k) / d ** 0.5
y = torch.einsum("bhlm,bmhd->blhd", torch.softmax(s, dim=-1), v).reshape(B, L, D)
print("输出", y.shape)
