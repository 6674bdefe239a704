import torch
import torch.nn as nn

torch.manual_seed(140)
B, L, D = 2, 5, 16
x = torch.randn(B, L, D)
q, k, v = nn.Linear(D, 3 * D)(x).chunk(3, dim=-1)
q = q * D ** -0.25
k = k * D ** -0.25
weights = torch.softmax(torch.einsum("bqd,bkd->bqk", q, k), dim=-1)
print((weights @ v).shape)
