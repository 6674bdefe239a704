import torch
from torch import nn

torch.manual_seed(2)
词表大小, 维度, 头数, 填充 = 20, 12, 3, 0
句子 = torch.tensor([[11, 4, 7, 9, 3], [6, 2, 13, 填充, 填充]])
嵌入 = nn.Embedding(词表大小, 维度, padding_idx=填充)
注意力 = nn.MultiheadAttention(维度, 头数, batch_first=True)

x = 嵌入(句子)
y, w = 注意力(x, x, x, key_padding_mask=句子 == 填充)
print("权重", w[1, 0])
