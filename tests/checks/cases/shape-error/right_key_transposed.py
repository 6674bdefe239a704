import math

import torch
from torch import nn

torch.manual_seed(42)
batch_size, seq_len, d_model = 2, 4, 8
x = torch.randn(batch_size, seq_len, d_model)
W_q = nn.Linear(d_model, d_model, bias=False)
W_k = nn.Linear(d_model, d_model, bias=False)
W_v = nn.Linear(d_model, d_model, bias=False)
Q, K, V = W_q(x), W_k(x), W_v(x)
scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(d_model)
weights = torch.softmax(scores, dim=-1)
print(torch.matmul(weights, V))
