import torch
from torch import nn

torch.manual_seed(216)
B, L, M, D = 2, 4, 6, 8
x, memory = torch.randn(B, L, D), torch.randn(B, M, D)
q, k, v = nn.Linear(D, D)(x), nn.Linear(D, D)(memory), nn.Linear(D, D)(memory)
s = torch.einsum("bkd,bqd->bqk", k, q) / D ** 0.5
print(torch.einsum("bkd,bqk->bqd", v, s.softmax(-1)).shape)
