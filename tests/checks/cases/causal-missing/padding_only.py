import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)
PAD, V, D, H = 0, 15, 12, 3
ids = torch.tensor([[3, 8, 5, 2, 6, 11], [7, 4, 9, 13, PAD, PAD]])
emb, qkv, out = nn.Embedding(V, D, padding_idx=PAD), nn.Linear(D, 3 * D), nn.Linear(D, V)
x = emb(ids)
q, k, v = qkv(x).view(2, 6, 3, H, D // H).permute(2, 0, 3, 1, 4)
scores = q @ k.transpose(-2, -1) / (D // H) ** 0.5  # expect: ATT071
mask = (ids == PAD)[:, None, None, :]
weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
logits = out((weights @ v).transpose(1, 2).flatten(2))
loss = F.cross_entropy(logits[:, :-1].reshape(-1, V), ids[:, 1:].reshape(-1), ignore_index=PAD)
print(loss.item())
