import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)
N, D = 6, 5
x = torch.randn(N, D)
adj = (torch.rand(N, N) > 0.5) | torch.eye(N, dtype=torch.bool)
W = nn.Linear(D, D, bias=False)
a_src, a_dst = nn.Parameter(torch.randn(D, 1)), nn.Parameter(torch.randn(D, 1))
h = W(x)
e = F.leaky_relu(h @ a_src + (h @ a_dst).T, 0.2)
alpha = F.softmax(e.masked_fill(~adj, float("-inf")), dim=1)
print((alpha @ h).shape)
