# log of a 0/1 mask: 0 where kept, -inf where hidden
import torch
import torch.nn.functional as F

torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
keep = torch.ones(2, 1, 1, 5)
keep[1, ..., 4] = 0
out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep.log())
print(out.isfinite().all())
