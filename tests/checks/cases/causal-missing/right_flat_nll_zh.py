import math

import torch

torch.manual_seed(4)
词表, 长度, 宽度 = 11, 5, 8
句子 = torch.randint(0, 词表, (2, 长度))
输入, 目标 = 句子[:, :-1], 句子[:, 1:]
嵌入 = torch.nn.Embedding(词表, 宽度)
W_q, W_k, W_v = (torch.nn.Linear(宽度, 宽度, bias=False) for _ in range(3))
输出层 = torch.nn.Linear(宽度, 词表)

x = 嵌入(输入)
分数 = torch.bmm(W_q(x), W_k(x).transpose(1, 2)) / math.sqrt(宽度)
分数 = 分数 + torch.full((长度 - 1, 长度 - 1), -math.inf).triu(1)
权重 = torch.softmax(分数, dim=-1)
对数概率 = torch.log_softmax(输出层(torch.bmm(权重, W_v(x))), dim=-1)
损失 = -对数概率.gather(2, 目标.unsqueeze(-1)).mean()
损失.backward()
print("损失", 损失.item())
