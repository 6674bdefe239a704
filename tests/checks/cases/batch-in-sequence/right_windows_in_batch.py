"""Windows are put beside the batch, not into the sequence."""
import torch
import torch.nn as nn

torch.manual_seed(240)
B, T, C, win = 2, 6, 8, 3
x = torch.randn(B, T, C).view(B * T // win, win, C)
q, k, v = nn.Linear(C, 3 * C)(x).chunk(3, -1)
w = torch.softmax(q @ k.mT / C ** 0.5, -1)
print((w @ v).view(B, T, C).shape)
