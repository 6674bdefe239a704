# the data are standardised once, with statistics over all of them; that is no layer
import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(6, 5, 12) * 3 + 1
data = (data - data.mean(dim=(0, 1))) / data.std(dim=(0, 1))
attn = nn.MultiheadAttention(12, 3, batch_first=True)
norm = nn.LayerNorm(12)
for batch in data.split(2):
    y = norm(batch + attn(batch, batch, batch, need_weights=False)[0])
    pooled = y.mean(dim=1)
    print(pooled.shape)
