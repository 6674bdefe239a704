import torch
import torch.nn.functional as F
from torch import nn

# keys and values of a reduced grid: 2x2 patches are merged into one token (PVT, patch merging)
torch.manual_seed(7)
B, H, W, C = 2, 4, 6, 5
x = torch.randn(B, H * W, C)
merged = x.view(B, H // 2, 2, W // 2, 2, C).permute(0, 1, 3, 2, 4, 5).reshape(B, H * W // 4, 4 * C)
q, k, v = nn.Linear(C, 8)(x), nn.Linear(4 * C, 8)(merged), nn.Linear(4 * C, 8)(merged)
print(F.scaled_dot_product_attention(q, k, v).shape)
