import torch
import torch.nn.functional as F

torch.manual_seed(0)
B, H, L, d = 2, 3, 5, 4
q, k, v = torch.randn(3, B, H, L, d)
scores = torch.matmul(q, k.transpose(-2, -1)) / d**0.5
mask = torch.triu(torch.ones(L, L))  # expect: ATT074
scores = scores.masked_fill(mask == 0, float("-inf"))
weights = F.softmax(scores, dim=-1)
print(weights[0, 0])
print(torch.matmul(weights, v).shape)
