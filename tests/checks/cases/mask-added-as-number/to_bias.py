import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(38)
d, n, heads = 12, 5, 3
rel = nn.Embedding(9, heads)
q, k, v = nn.Linear(d, 3 * d)(torch.randn(2, n, d)).view(2, n, 3, heads, 4).permute(2, 0, 3, 1, 4)
i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
bias = rel((i - j).clamp(-4, 4) + 4).permute(2, 0, 1)
bias = bias + (j <= i)  # expect: ATT057
print(F.scaled_dot_product_attention(q, k, v, attn_mask=bias).shape)
