"""Weights are masked after the softmax and divided by what is left: rows sum to one again."""
import torch
import torch.nn as nn

torch.manual_seed(68)
B, L, D = 2, 5, 8
x = torch.randn(B, L, D)
q, k, v = nn.Linear(D, 3 * D)(x).chunk(3, -1)
keep = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).float().unsqueeze(1)
w = torch.softmax(q @ k.transpose(1, 2) / D ** 0.5, dim=-1)
w = w * keep
w = w / w.sum(dim=-1, keepdim=True)
print((w @ v).shape, w.sum(-1))
