# 原地修改分数：两种写法
import torch
import torch.nn as nn


def by_index(Q, K, V, mask):
    scores = torch.bmm(Q, K.transpose(1, 2))
    scores /= Q.shape[-1] ** 0.5
    scores[mask] = float("-inf")
    weights = scores.softmax(-1)
    return weights.bmm(V)


def by_method(Q, K, V, mask):
    scores = torch.bmm(Q, K.transpose(1, 2))
    scores.div_(Q.shape[-1] ** 0.5)
    scores.masked_fill_(mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights.bmm(V)


torch.manual_seed(18)
B, L, D = 3, 5, 8
x = torch.randn(B, L, D)
f, g, h = nn.Linear(D, 6), nn.Linear(D, 6), nn.Linear(D, 4)
with torch.no_grad():
    Q, K, V = f(x), g(x), h(x)
    # 填充掩码：第 i 个样本只有 lengths[i] 个词元
    lengths = torch.tensor([5, 3, 4])
    mask = (torch.arange(L) >= lengths.unsqueeze(1)).unsqueeze(1).expand(B, L, L)
    a = by_index(Q, K, V, mask)
    b = by_method(Q, K, V, mask)
print(a.shape, torch.equal(a, b))
