import torch
from torch import nn

torch.manual_seed(3)
填充 = 0
序列 = torch.tensor([[2, 6, 4, 8, 5, 1], [9, 3, 7, 5, 填充, 填充]])
嵌入 = nn.Embedding(10, 8, padding_idx=填充)
投影 = nn.Linear(8, 24)


def 自注意力(x, 掩码):
    q, k, v = 投影(x).chunk(3, -1)
    分数 = torch.einsum("bqd,bkd->bqk", q, k) / 8**0.5
    分数 = 分数.masked_fill(掩码.unsqueeze(-2), float("-inf"))
    权重 = torch.softmax(分数, dim=-1)
    return torch.einsum("bqk,bkd->bqd", 权重, v)


输出 = 自注意力(嵌入(序列), 序列 == 填充)
print("第一个词元", 输出[:, 0])
