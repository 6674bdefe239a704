import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
B, L, D = 2, 5, 12
x = torch.randn(B, L, D)
W_q, W_k, W_v = (torch.nn.Linear(D, D, bias=False) for _ in range(3))
Q, K, V = W_q(x), W_k(x), W_v(x)
scores = Q @ K.transpose(-2, -1) / math.sqrt(D)
mask = torch.tril(torch.ones(L, L))
scores = scores.masked_fill(mask == 0, float("-inf"))
weights = F.softmax(scores, dim=-1)
print(weights[0])
print(weights @ V)
