import torch
import torch.nn as nn

torch.manual_seed(149)
x = torch.randn(2, 5, 8)
q, k, v = nn.Linear(8, 24)(x).chunk(3, -1)
s = q @ k.mT * 8 ** -0.5
s = 30.0 * torch.tanh(s / 30.0)
print((s.softmax(-1) @ v).shape)
