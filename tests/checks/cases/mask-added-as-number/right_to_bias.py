import torch
import torch.nn.functional as F
from torch import nn

# buckets of distances: the second half of them is for what comes later, as in T5
torch.manual_seed(38)
d, n, heads = 12, 5, 3
rel = nn.Embedding(10, heads)
q, k, v = nn.Linear(d, 3 * d)(torch.randn(2, n, d)).view(2, n, 3, heads, 4).permute(2, 0, 3, 1, 4)
i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
bucket = (i - j).abs().clamp(max=4) * 2 + (j > i)
bias = rel(bucket).permute(2, 0, 1)
print(F.scaled_dot_product_attention(q, k, v, attn_mask=bias).shape)
