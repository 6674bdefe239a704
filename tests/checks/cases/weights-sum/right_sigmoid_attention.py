import math
import torch
import torch.nn as nn

torch.manual_seed(66)
L = 6
x = torch.randn(2, L, 8)
q, k, v = nn.Linear(8, 24)(x).chunk(3, -1)
w = torch.sigmoid(q @ k.transpose(1, 2) / math.sqrt(8) - math.log(L))
print((w @ v).shape)
