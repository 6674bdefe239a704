"""d_k, the length and the number of heads are all 4."""
import torch
import torch.nn as nn

torch.manual_seed(146)
B, L, H, d_k = 2, 4, 4, 4
x = torch.randn(B, L, H * d_k)
q, k, v = nn.Linear(H * d_k, 3 * H * d_k)(x).view(B, L, 3, H, d_k).permute(2, 0, 3, 1, 4)
w = torch.softmax(q @ k.mT * d_k ** -0.5, -1)
print((w @ v).shape)
