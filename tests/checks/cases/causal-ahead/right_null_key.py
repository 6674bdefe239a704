import torch
import torch.nn.functional as F

# every query may look at a learned key that stands before the tokens
torch.manual_seed(4)
B, H, L, d = 2, 3, 5, 4
q, k, v = torch.randn(3, B, H, L, d)
null_k, null_v = torch.nn.Parameter(torch.randn(H, 1, d)), torch.nn.Parameter(torch.randn(H, 1, d))
k = torch.cat([null_k.expand(B, H, 1, d), k], dim=2)
v = torch.cat([null_v.expand(B, H, 1, d), v], dim=2)
mask = torch.ones(L, L + 1).tril(diagonal=1).bool()
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
