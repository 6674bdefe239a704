import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)
D = 8
query, key, value = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)
x = torch.randn(3, 6, D)
q, k, v = query(x), key(x), value(x)
out = F.scaled_dot_product_attention(q, k, v)
print(out.shape, out[0, 0])
