import torch
import torch.nn.functional as F
from torch import nn

# swin: windows are folded into the batch and back
torch.manual_seed(4)
B, S, w, C, h = 2, 4, 2, 8, 2
x = torch.randn(B, S, S, C)
win = x.view(B, S // w, w, S // w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, C)
q, k, v = nn.Linear(C, 3 * C)(win).view(-1, w * w, 3, h, C // h).permute(2, 0, 3, 1, 4)
y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, w * w, C)
y = y.view(B, S // w, S // w, w, w, C).permute(0, 1, 3, 2, 4, 5).reshape(B, S, S, C)
print(y.shape)
