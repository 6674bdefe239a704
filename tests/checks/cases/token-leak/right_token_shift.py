import torch
import torch.nn.functional as F
from torch import nn

# every token is mixed with the one before it (as in RWKV)
torch.manual_seed(1)
x = torch.randn(2, 5, 12)
mix = nn.Parameter(torch.rand(12))
before = F.pad(x, (0, 0, 1, -1))
h = x * mix + before * (1 - mix)
q, k, v = (nn.Linear(12, 12)(h).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
print(F.scaled_dot_product_attention(q, k, v, is_causal=True).shape)
