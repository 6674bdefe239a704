import torch
from torch import nn

torch.manual_seed(44)
B, L, H, d = 2, 5, 3, 4
q, k, v = nn.Linear(H * d, 3 * H * d)(torch.randn(B, L, H * d)).view(B, L, 3, H, d).unbind(2)
q, k, v = (t.transpose(1, 2) for t in (q, k, v))
w = (q @ k.mT / d**0.5).softmax(-1)
print((w @ k).transpose(1, 2).reshape(B, L, -1).shape)  # expect: ATT032
