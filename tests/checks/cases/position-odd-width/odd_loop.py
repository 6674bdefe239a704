import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)
seq_len, d_model = 5, 9
pe = torch.zeros(seq_len, d_model)
for pos in range(seq_len):
    for i in range(0, d_model, 2):
        angle = pos / 10000 ** (i / d_model)
        pe[pos, i] = math.sin(angle)
        pe[pos, i + 1] = math.cos(angle)  # expect: ATT094

x = torch.randn(2, seq_len, d_model) + pe
w_q, w_k, w_v = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
out = F.softmax(w_q(x) @ w_k(x).transpose(-2, -1) / d_model**0.5, dim=-1) @ w_v(x)
print(out.shape)
