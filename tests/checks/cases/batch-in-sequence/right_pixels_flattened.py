"""Rows and columns of an image are one sequence."""
import torch
import torch.nn as nn

torch.manual_seed(238)
B, H, W, C = 2, 3, 4, 8
x = torch.randn(B, H, W, C).reshape(B, H * W, C)
q, k, v = nn.Linear(C, 3 * C)(x).chunk(3, -1)
w = torch.softmax(q @ k.mT / C ** 0.5, -1)
print((w @ v).view(B, H, W, C).shape)
