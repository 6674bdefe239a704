import torch
import torch.nn.functional as F

torch.manual_seed(11)
PAD = 0
ids = torch.tensor([[PAD, PAD, 4, 8, 3], [6, 2, 9, 5, 7]])
x = torch.nn.Embedding(10, 12)(ids)
q, k, v = torch.nn.Linear(12, 36)(x).chunk(3, dim=-1)
keep = (ids != PAD)[:, None, :]
scores = (q @ k.mT) / 12**0.5
scores = scores.masked_fill(keep.logical_not(), -1e4)
print(F.softmax(scores, -1) @ v)
