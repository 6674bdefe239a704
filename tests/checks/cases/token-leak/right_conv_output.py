import torch
from torch import nn
import torch.nn.functional as F

# 1x1 卷积做投影, 输入 [B, C, N]
torch.manual_seed(4)
B, C, N = 2, 6, 5
feature = torch.randn(B, C, N)
query_conv, key_conv, value_conv = nn.Conv1d(C, 4, 1), nn.Conv1d(C, 4, 1), nn.Conv1d(C, C, 1)
q = query_conv(feature).permute(0, 2, 1)
k = key_conv(feature)
energy = torch.bmm(q, k) / 4**0.5
attention = F.softmax(energy, dim=-1)
out = torch.bmm(value_conv(feature), attention.permute(0, 2, 1))
print(out.shape)
