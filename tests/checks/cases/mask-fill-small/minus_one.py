import torch

torch.manual_seed(3)
批大小, 序列长, 头, 每头宽 = 2, 5, 3, 4
q, k, v = torch.randn(3, 批大小 * 头, 序列长, 每头宽)
分数 = torch.bmm(q, k.transpose(1, 2)) / 每头宽**0.5
未来 = torch.triu(torch.ones(序列长, 序列长, dtype=torch.bool), diagonal=1)
分数.masked_fill_(未来, -1)  # expect: ATT055
权重 = 分数.softmax(dim=-1)
print("权重", 权重[0])
print(torch.bmm(权重, v).shape)
