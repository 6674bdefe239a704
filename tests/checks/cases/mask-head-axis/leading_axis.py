import math

import torch

torch.manual_seed(2)
pad_idx = 0
批, 头, 长, 宽 = 2, 2, 4, 8
句 = torch.tensor([[1, 5, 3, 2], [4, 6, pad_idx, pad_idx]])
词向量 = torch.nn.Embedding(8, 宽)(句)
Q = torch.nn.Linear(宽, 宽)(词向量).view(批, 长, 头, 宽 // 头).transpose(1, 2)
K = torch.nn.Linear(宽, 宽)(词向量).view(批, 长, 头, 宽 // 头).transpose(1, 2)
V = torch.nn.Linear(宽, 宽)(词向量).view(批, 长, 头, 宽 // 头).transpose(1, 2)
分数 = Q @ K.transpose(-2, -1) / math.sqrt(宽 // 头)
填充掩码 = (句 == pad_idx)[None, :, None, :]  # expect: ATT053
权重 = 分数.masked_fill(填充掩码, float("-inf")).softmax(-1)
print("权重", 权重[1, 0])
print((权重 @ V).shape)
