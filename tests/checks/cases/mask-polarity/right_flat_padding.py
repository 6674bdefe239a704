import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
PAD = 0
ids = torch.tensor([[5, 3, 8, 2, 7], [4, 9, 6, PAD, PAD]])
emb = torch.nn.Embedding(10, 12, padding_idx=PAD)
W_q, W_k, W_v = (torch.nn.Linear(12, 12, bias=False) for _ in range(3))

x = emb(ids)
Q, K, V = W_q(x), W_k(x), W_v(x)
mask = (ids != PAD).unsqueeze(1)
scores = Q @ K.transpose(-2, -1) / math.sqrt(12)
scores = scores.masked_fill(~mask, -1e9)
weights = F.softmax(scores, dim=-1)
print((weights @ V).sum(-1))
