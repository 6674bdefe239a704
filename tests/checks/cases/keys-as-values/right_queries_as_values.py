import torch
import torch.nn.functional as F


def attention(q, k, v):
    d = q.size(-1)
    p = F.softmax(q @ k.transpose(-2, -1) / d ** 0.5, dim=-1)
    return p @ v, p


torch.manual_seed(11)
q = torch.randn(2, 3, 5, 4)
k = torch.randn(2, 3, 5, 4)
v = torch.randn(2, 3, 5, 4)
out, p = attention(q, k, v)
print(out.shape, p.shape)
