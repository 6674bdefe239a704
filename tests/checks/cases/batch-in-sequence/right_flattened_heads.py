import torch
import torch.nn as nn

torch.manual_seed(231)
B, L, H, d = 2, 5, 3, 4
x = torch.randn(B, L, H * d)
qkv = nn.Linear(H * d, 3 * H * d)(x)
q, k, v = qkv.view(B, L, 3, H, d).permute(2, 0, 3, 1, 4)
weights = (q @ k.transpose(-2, -1) / d ** 0.5).softmax(-1)
out = (weights @ v).transpose(1, 2).reshape(B, L, H * d)
print(out.shape)
