import torch
from torch import nn

torch.manual_seed(1)
记忆长度 = torch.tensor([4, 0])
记忆 = torch.randn(2, 4, 12)
查询 = torch.randn(2, 3, 12)
注意力 = nn.MultiheadAttention(12, 3, batch_first=True)
忽略 = torch.arange(4)[None, :] >= 记忆长度[:, None]
忽略[:, 0] = False
y, w = 注意力(查询, 记忆, 记忆, key_padding_mask=忽略)
print("输出", y.sum(-1))
