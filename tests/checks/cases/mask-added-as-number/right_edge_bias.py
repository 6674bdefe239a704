import torch
from torch import nn

# a graph: neighbours get a learned bonus, others are not hidden
torch.manual_seed(7)
edges = torch.tensor([[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1], [1, 0, 0, 1, 0]])
bonus = nn.Embedding(2, 3)
q, k, v = torch.randn(3, 2, 3, 5, 4)
scores = q @ k.mT / 2.0 + bonus(edges).permute(2, 0, 1)
print((scores.softmax(-1) @ v).shape)
