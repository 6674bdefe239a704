# 融合的 QKV：一次线性层，再拆成三份
import torch
from torch import nn

torch.manual_seed(1)
批, 长, 宽 = 2, 5, 6
x = torch.randn(批, 长, 宽)
to_qkv = nn.Linear(宽, 3 * 宽)

qkv = to_qkv(x)
Q, K, V = qkv.view(批, 3, 长, 宽).unbind(dim=1)  # expect: ATT043
A = torch.softmax(Q @ K.transpose(1, 2) / 宽 ** 0.5, dim=-1)
print((A @ V).shape)
