import torch

torch.manual_seed(47)
B, L, D = 2, 7, 12
x = torch.randn(B, L, D)
w = torch.randn(3, D, D) / D**0.5
q, k, v = (x @ w[i] for i in range(3))
scores = q @ (k / D**0.5).mT
print((scores.softmax(-1) @ v).shape)
