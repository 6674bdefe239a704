import torch
import torch.nn as nn

# 键值记忆网络：键是问题，值是答案，两者本来就不是同一个张量
torch.manual_seed(0)
questions, answers = nn.Embedding(7, 6), nn.Embedding(7, 10)
ids = torch.arange(7)
asked = torch.randn(3, 6)
match = asked @ questions(ids).T / 6 ** 0.5
reply = match.softmax(-1) @ answers(ids)
print(reply.shape)
