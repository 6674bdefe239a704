import torch
from torch import nn

# one causal mask for all samples and heads: the order of the copies is of no account
torch.manual_seed(5)
B, L, D, H = 2, 5, 12, 3
x = torch.randn(B, L, D)
mha = nn.MultiheadAttention(D, H, batch_first=True)
causal = torch.full((L, L), float("-inf")).triu(1)
out, _ = mha(x, x, x, attn_mask=causal.repeat(B * H, 1, 1))
print(out.shape)
