import torch
import torch.nn as nn

torch.manual_seed(55)
B, L, D, KEEP = 2, 6, 8, 3
x = torch.randn(B, L, D)
q, k, v = (nn.Linear(D, D)(x) for _ in range(3))
scores = torch.bmm(q, k.transpose(1, 2)) / D ** 0.5
top = scores.topk(KEEP, dim=-1).indices
keep = torch.zeros_like(scores).scatter(-1, top, 1.0)
weights = scores.softmax(dim=-1)
weights = weights * keep
weights = weights / weights.sum(dim=-1, keepdim=True)
print(torch.bmm(weights, v).shape)
