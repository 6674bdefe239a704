import torch
import torch.nn.functional as F

# a token sees itself and the two before it
torch.manual_seed(5)
L, look_back = 7, 2
q, k, v = torch.randn(3, 2, 3, L, 4)
i = torch.arange(L)
mask = (i[:, None] >= i[None, :]) & (i[:, None] - i[None, :] <= look_back)
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
