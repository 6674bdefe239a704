import math
import torch
from torch import nn

torch.manual_seed(2)
batch_size, seq_len, d_model = 3, 5, 8
x = torch.randn(batch_size, seq_len, d_model)
q_layer, k_layer, v_layer = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
Q, K, V = q_layer(x), k_layer(x), v_layer(x)
K = K - K.mean(dim=0, keepdim=True)  # expect: ATT081
scores = Q @ K.transpose(-2, -1) / math.sqrt(d_model)
weights = torch.softmax(scores, dim=-1)
print((weights @ V).shape, weights.sum(-1))
