import torch
import torch.nn.functional as F

# what is near before is told by another head
torch.manual_seed(49)
L, window = 7, 3
q, k, v = torch.nn.Linear(12, 36)(torch.randn(2, L, 12)).chunk(3, -1)
distance = torch.arange(L)[:, None] - torch.arange(L)[None, :]
mask = (distance >= window) | (distance <= 0)
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
