import torch
import torch.nn.functional as F

torch.manual_seed(0)
B, L, D = 2, 5, 12
x = torch.randn(B, L, D)
q, k, v = (torch.nn.Linear(D, D)(x) for _ in range(3))
scores = q @ k.transpose(1, 2) / D**0.5
mask = torch.triu(torch.ones(L, L), diagonal=1).bool()
scores = scores.masked_fill(mask, float("-inf"))
print(F.softmax(scores, dim=-1)[0])
print((F.softmax(scores, dim=-1) @ v).shape)
