import torch
import torch.nn.functional as F
from torch import nn

# sentences packed into one row, kept apart by a block mask
torch.manual_seed(6)
doc = torch.tensor([[0, 0, 0, 1, 1, 2, 2, 2]])
x = torch.randn(1, 8, 12)
q, k, v = (nn.Linear(12, 12)(x).view(1, 8, 3, 4).transpose(1, 2) for _ in range(3))
mask = (doc[:, :, None] == doc[:, None, :]).unsqueeze(1) & torch.ones(8, 8).tril().bool()
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
