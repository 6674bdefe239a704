import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(2)
ids = torch.tensor([[4, 7, 2, 9, 5], [8, 3, 6, 0, 0]])
labels = torch.tensor([1, 0])
emb, qkv, head = nn.Embedding(10, 12), nn.Linear(12, 36), nn.Linear(12, 2)
keep = ids != 0
q, k, v = qkv(emb(ids)).chunk(3, dim=-1)
pair = keep.unsqueeze(1) & keep.unsqueeze(2)
scores = (q @ k.transpose(1, 2) / 12**0.5).masked_fill(~pair, -1e9)
h = torch.softmax(scores, dim=-1) @ v
pooled = (h * keep.unsqueeze(-1)).sum(1) / keep.sum(1, keepdim=True)
loss = F.cross_entropy(head(pooled), labels)
print(loss.item())
