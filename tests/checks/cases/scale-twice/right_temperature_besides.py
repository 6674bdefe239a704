import torch
import torch.nn as nn

torch.manual_seed(166)
x = torch.randn(2, 5, 8)
q, k, v = nn.Linear(8, 24)(x).chunk(3, -1)
temperature = 0.7
s = q @ k.mT / 8 ** 0.5
print(((s / temperature).softmax(-1) @ v).shape)
