import torch
import torch.nn.functional as F
from torch import nn

# causal convolution of width 3 on q, k, v (Primer, log-sparse transformer)
torch.manual_seed(3)
x = torch.randn(2, 12, 6)
conv = nn.Conv1d(12, 36, 3)
q, k, v = conv(F.pad(x, (2, 0))).transpose(1, 2).chunk(3, dim=-1)
w = (q @ k.transpose(1, 2) / 12**0.5).masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf).softmax(-1)
print((w @ v).shape)
