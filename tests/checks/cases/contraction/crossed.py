import torch
from torch import nn

# as many tokens as features in a head: nothing is raised
torch.manual_seed(42)
B, L, H, d = 2, 4, 3, 4
x = torch.randn(B, L, H * d)
q, k, v = (nn.Linear(H * d, H * d)(x).view(B, L, H, d).transpose(1, 2) for _ in range(3))
w = (torch.matmul(q, k) / d**0.5).softmax(-1)  # expect: ATT025
print((w @ v).transpose(1, 2).reshape(B, L, -1).shape)
