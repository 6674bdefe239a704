import torch
import torch.nn as nn

torch.manual_seed(214)
B, L, D = 2, 5, 8
x = torch.randn(B, L, D)
wq, wk, wv = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)
q, k, v = wq(x), wk(x), wv(x)
scores_t = torch.bmm(k, q.transpose(1, 2)) / D ** 0.5
blocked = torch.ones(L, L, dtype=torch.bool).tril(-1)       # [key, query]
weights_t = torch.softmax(scores_t.masked_fill(blocked, float("-inf")), dim=-2)
print(torch.bmm(weights_t.transpose(1, 2), v).shape)
