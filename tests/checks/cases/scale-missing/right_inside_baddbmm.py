import torch
import torch.nn as nn

torch.manual_seed(113)
B, L, D = 3, 5, 9
x = torch.randn(B, L, D)
q, k, v = nn.Linear(D, 3 * D)(x).chunk(3, -1)
bias = torch.zeros(B, L, L)
bias[:, :, -1] = -10000.0
w = torch.softmax(torch.baddbmm(bias, q, k.transpose(1, 2), beta=1, alpha=D ** -0.5), dim=-1)
print((w @ v).shape)
