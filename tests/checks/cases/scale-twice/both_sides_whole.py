import torch
import torch.nn as nn

torch.manual_seed(164)
B, L, D, H = 2, 5, 12, 3
d = D // H
x = torch.randn(B, L, D)
q, k, v = (t.view(B, L, H, d).transpose(1, 2) for t in nn.Linear(D, 3 * D)(x).chunk(3, -1))
# 对 q 和 k 都做缩放
q = q / d ** 0.5
k = k / d ** 0.5  # expect: ATT014
w = torch.softmax(q @ k.transpose(-2, -1), -1)
print((w @ v).shape)
