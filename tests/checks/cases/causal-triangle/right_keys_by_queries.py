import torch

# scores are kept as keys × queries, so the triangle that stays is the upper one
torch.manual_seed(4)
L, d = 5, 8
q, k, v = torch.randn(3, 2, L, d)
scores = k @ q.transpose(-2, -1) / d**0.5
scores = scores.masked_fill(torch.ones(L, L).triu() == 0, float("-inf"))
weights = scores.softmax(dim=-2)
print((weights.transpose(-2, -1) @ v).shape)
