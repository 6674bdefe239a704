"""Sequence-first tensors: scores are [L_q, L_k, B], so the keys lie on axis 1."""
import torch
import torch.nn as nn

torch.manual_seed(20)
L, B, D = 5, 2, 8
x = torch.randn(L, B, D)
wq, wk, wv = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)
q, k, v = wq(x), wk(x), wv(x)
scores = torch.einsum("qbd,kbd->qkb", q, k) / D ** 0.5
weights = scores.softmax(dim=1)
out = torch.einsum("qkb,kbd->qbd", weights, v)
print(out.shape)
