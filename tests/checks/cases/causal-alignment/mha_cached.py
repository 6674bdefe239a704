import torch
from torch import nn

torch.manual_seed(6)
mha = nn.MultiheadAttention(12, 3, batch_first=True)
past, new = torch.randn(2, 3, 12), torch.randn(2, 2, 12)
keys = torch.cat([past, new], dim=1)
future = torch.triu(torch.ones(2, 5), diagonal=1).bool()  # expect: ATT075
out, weights = mha(new, keys, keys, attn_mask=future)
print(weights[0])
