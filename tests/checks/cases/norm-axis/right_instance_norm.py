# InstanceNorm1d on (B, L, D) normalises each token over its features: LayerNorm without weights
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 5, 12)
h = nn.InstanceNorm1d(5)(x)
attn = nn.MultiheadAttention(12, 3, batch_first=True)
print((x + attn(h, h, h, need_weights=False)[0]).shape)
