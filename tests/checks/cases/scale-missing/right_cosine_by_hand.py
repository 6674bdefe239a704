import torch
import torch.nn as nn

torch.manual_seed(119)
x = torch.randn(2, 5, 8)
q, k, v = nn.Linear(8, 24)(x).chunk(3, -1)
tau = nn.Parameter(torch.tensor(0.1))
q = q / q.norm(dim=-1, keepdim=True)
k = k / k.norm(dim=-1, keepdim=True)
w = torch.softmax(q @ k.transpose(1, 2) / tau, dim=-1)
print((w @ v).shape)
