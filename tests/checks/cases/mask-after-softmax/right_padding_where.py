import torch
from torch import nn

torch.manual_seed(3)
填充号 = 0
文本 = torch.tensor([[5, 7, 2, 9, 4], [3, 8, 填充号, 填充号, 填充号]])
词嵌入 = nn.Embedding(10, 12)
q, k, v = nn.Linear(12, 36)(词嵌入(文本)).reshape(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4)
可见 = (文本 != 填充号)[:, None, None, :]
分数 = q @ k.transpose(2, 3) / 2.0
分数 = torch.where(可见, 分数, torch.tensor(-1e9))
权重 = 分数.softmax(-1)
print("每行之和", 权重.sum(-1)[1, 0])
print((权重 @ v).shape)
