import torch
import torch.nn.functional as F

# blocks of four tokens, causal within a block
torch.manual_seed(6)
L, chunk = 8, 4
q, k, v = torch.randn(3, 2, 3, L, 4)
block = torch.arange(L) // chunk
mask = (block[:, None] == block[None, :]) & torch.ones(L, L).tril().bool()
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
