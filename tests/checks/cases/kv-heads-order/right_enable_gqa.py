import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
wq, wk, wv = nn.Linear(16, 16), nn.Linear(16, 8), nn.Linear(16, 8)
x = torch.randn(2, 5, 16)
q = wq(x).unflatten(-1, (4, 4)).transpose(1, 2)
k = wk(x).unflatten(-1, (2, 4)).transpose(1, 2)
v = wv(x).unflatten(-1, (2, 4)).transpose(1, 2)
print(F.scaled_dot_product_attention(q, k, v, enable_gqa=True).shape)
