import math

import torch

torch.manual_seed(1)
B, L, D = 2, 5, 12
ids = torch.tensor([[2, 7, 4, 9, 5], [8, 3, 6, 0, 0]])
x = torch.nn.Embedding(10, D)(ids)
Q, K, V = (torch.nn.Linear(D, D, bias=False)(x) for _ in range(3))
padding = (ids == 0).unsqueeze(1)
future = torch.triu(torch.ones(L, L), diagonal=1).bool().unsqueeze(0)
blocked = padding | future
scores = (Q @ K.transpose(-2, -1) / math.sqrt(D)).masked_fill(blocked, float("-inf"))
print(scores.softmax(dim=-1)[0])
print((scores.softmax(dim=-1) @ V).shape)
