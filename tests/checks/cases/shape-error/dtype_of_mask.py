import torch
import torch.nn.functional as F

torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
mask = torch.ones(5, 5).tril().long()
out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # expect: ATT121
print(out.shape)
