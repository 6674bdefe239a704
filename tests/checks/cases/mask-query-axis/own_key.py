import torch
import torch.nn.functional as F

torch.manual_seed(18)
lengths = torch.tensor([6, 3, 4])
n, d = 6, 8
keep = torch.arange(n) < lengths[:, None]
x = torch.randn(3, n, d)
q, k, v = torch.nn.Linear(d, 3 * d)(x).chunk(3, -1)
mask = keep[:, :, None] | torch.eye(n, dtype=torch.bool)  # expect: ATT052
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).shape)
