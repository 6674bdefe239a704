"""q and k are of length one, so their product is small: it is multiplied by the root (as in nGPT)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(154)
B, L, H, d = 2, 5, 3, 4
x = torch.randn(B, L, H * d)
q, k, v = nn.Linear(H * d, 3 * H * d)(x).view(B, L, 3, H, d).permute(2, 0, 3, 1, 4)
q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
w = torch.softmax(q @ k.mT * d ** 0.5, dim=-1)
print((w @ v).shape)
