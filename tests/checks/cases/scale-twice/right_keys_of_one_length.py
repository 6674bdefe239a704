import torch
from torch import nn

torch.manual_seed(12)
d, h = 16, 2
x = torch.randn(3, 5, d)
to_q, to_k, to_v = (nn.Linear(d, d, bias=False) for _ in range(3))
q, k, v = (f(x).unflatten(-1, (h, -1)).transpose(1, 2) for f in (to_q, to_k, to_v))
k = k / k.norm(dim=-1, keepdim=True)
# keys of length one: how much to scale is a choice, here not at all, and once by the usual number
for scale in (1, (d // h) ** -0.5):
    scores = scale * (q @ k.transpose(-2, -1))
    print((scores.softmax(-1) @ v).shape)
