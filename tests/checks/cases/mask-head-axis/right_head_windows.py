import torch
import torch.nn.functional as F

# every head has a window of its own
torch.manual_seed(4)
B, H, L, d = 3, 3, 6, 4
q, k, v = torch.randn(3, B, H, L, d)
distance = torch.arange(L)[:, None] - torch.arange(L)[None, :]
windows = torch.tensor([2, 3, 6])
mask = (distance >= 0) & (distance < windows[:, None, None])
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0, :, -1])
