import math
import torch
import torch.nn as nn

torch.manual_seed(173)
B, L, D = 2, 6, 9
x = torch.randn(B, L, D)
q, k, v = nn.Linear(D, 3 * D)(x).chunk(3, dim=-1)
scores = torch.bmm(q, k.transpose(1, 2))
e = torch.exp(scores - scores.amax(-1, keepdim=True))
w = e / e.sum(-1, keepdim=True)
w = w / math.sqrt(D)  # expect: ATT015
print(torch.bmm(w, v).shape)
