import math

import torch

torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 6, 4) for _ in range(3))
outs = []
for chunk in q.split(2, dim=-2):
    s = chunk @ k.transpose(-2, -1) / math.sqrt(4)
    outs.append(torch.softmax(s, dim=-1) @ v)
print(torch.cat(outs, dim=-2).shape)
