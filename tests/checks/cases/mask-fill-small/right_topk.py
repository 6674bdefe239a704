import torch

# keep the three largest scores of every row
torch.manual_seed(10)
q, k, v = torch.randn(3, 2, 3, 6, 4)
scores = q @ k.mT / 2.0
top = scores.topk(3, dim=-1)
sparse = torch.full_like(scores, float("-inf")).scatter(-1, top.indices, top.values)
print((sparse.softmax(-1) @ v).shape)
