import torch
import torch.nn.functional as F

torch.manual_seed(6)
PAD = 0
ids = torch.tensor([[PAD, PAD, 3, 7, 2], [5, 8, 1, 4, 6]])
emb = torch.nn.Embedding(9, 12)
q, k, v = torch.nn.Linear(12, 36)(emb(ids)).view(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4)
causal = torch.tril(torch.ones(5, 5)).bool()
real = (ids != PAD)[:, None, None, :]
scores = (q @ k.transpose(-1, -2)) / 2.0
scores = scores.masked_fill(~(causal & real), -1e9)
print((F.softmax(scores, dim=-1) @ v)[0, 0])
