import torch

torch.manual_seed(3)
填充 = 0
编号 = torch.tensor([[4, 9, 2, 7], [5, 3, 填充, 填充]])
x = torch.nn.Embedding(10, 8)(编号)
q, k, v = torch.nn.Linear(8, 24)(x).chunk(3, dim=-1)
有效 = (编号 != 填充).long()[:, None, :]
下三角 = torch.tril(torch.ones(4, 4, dtype=torch.long))
可见 = (有效 + 下三角) > 0  # expect: ATT059
分数 = torch.bmm(q, k.transpose(1, 2)) / 8**0.5
权重 = 分数.masked_fill(~可见, -1e9).softmax(-1)
print(权重)
print(torch.bmm(权重, v).shape)
