import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
wq, wk, wv = (nn.Linear(8, 8) for _ in range(3))
x = torch.randn(2, 5, 8)
q, k, v = wq(x), wk(x), wv(x)
out = F.scaled_dot_product_attention(value=v, key=k, query=q)
print(out.shape)
