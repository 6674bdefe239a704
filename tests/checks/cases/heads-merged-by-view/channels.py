import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(16)
b, n, d, h = 2, 10, 12, 3
x = torch.randn(b, n, d)
to_q, to_k, to_v, to_out = (nn.Linear(d, d) for _ in range(4))
# features attend to features: q, k, v are [b, h, d/h, n]
q, k, v = (f(x).view(b, n, h, d // h).permute(0, 2, 3, 1) for f in (to_q, to_k, to_v))
y = F.scaled_dot_product_attention(q, k, v)
print(to_out(y.transpose(1, 2).reshape(b, n, d)).shape)  # expect: ATT042
