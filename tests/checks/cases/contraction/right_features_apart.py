import torch
import torch.nn as nn

torch.manual_seed(254)
B, L, D = 2, 5, 6
x = torch.randn(B, L, D)
q, k, v = nn.Linear(D, D)(x), nn.Linear(D, D)(x), nn.Linear(D, D)(x)
scores = torch.einsum("bqd,bkd->bqk", q, k) / D ** 0.5
out = torch.einsum("bqk,bkd->bqd", scores.softmax(-1), v)
print(out[0])
