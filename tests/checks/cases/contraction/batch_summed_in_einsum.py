import torch
import torch.nn as nn

torch.manual_seed(255)
B, L, D = 3, 5, 8
x = torch.randn(B, L, D)
memory = torch.randn(B, L, D)
q, k, v = nn.Linear(D, D)(x), nn.Linear(D, D)(memory), nn.Linear(D, D)(memory)
scores = torch.einsum("bqd,ckd->bqk", q, k) / D ** 0.5  # expect: ATT025
weights = scores.softmax(dim=-1)
print(torch.einsum("bqk,bkd->bqd", weights, v).shape)
