import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
batch, length, width = 2, 5, 12
x = torch.randn(batch, length, width)

to_q = nn.Linear(width, width)
to_k = nn.Linear(width, width)
to_v = nn.Linear(width, width)

q = to_q(x)
k = to_k(x)
v = to_v(x)

attn = F.softmax(q @ k.transpose(1, 2) / width ** 0.5, dim=-1)
out = attn @ v
print(out.shape)
