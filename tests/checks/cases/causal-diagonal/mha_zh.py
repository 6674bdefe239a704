import torch
from torch import nn

torch.manual_seed(3)
长 = 5
x = torch.randn(2, 长, 12)
自注意力 = nn.MultiheadAttention(12, 3, batch_first=True)
掩码 = torch.full((长, 长), -1e9).triu()  # expect: ATT073
y, 权重 = 自注意力(x, x, x, attn_mask=掩码)
print(权重[0])
