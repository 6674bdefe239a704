import math
import torch
import torch.nn as nn

torch.manual_seed(114)
B, L, D = 2, 5, 8
x = torch.randn(B, L, D)
q, k, v = nn.Linear(D, 3 * D)(x).chunk(3, -1)
scores = q @ k.transpose(1, 2)
scores = scores.masked_fill(torch.ones(L, L).tril() == 0, -torch.inf)
weights = torch.softmax(scores / math.sqrt(k.shape[-1]), dim=-1)
print((weights @ v).shape)
