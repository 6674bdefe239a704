import torch

# scores are kept [B, keys, queries]; the softmax runs over the keys
torch.manual_seed(9)
ids = torch.tensor([[5, 3, 8, 1, 2], [4, 6, 0, 0, 0]])
x = torch.nn.Embedding(10, 12)(ids)
q, k, v = (torch.nn.Linear(12, 12)(x) for _ in range(3))
scores = k @ q.transpose(1, 2) / 12**0.5
scores = scores.masked_fill((ids == 0)[:, :, None], float("-inf"))
weights = scores.softmax(dim=1)
print((weights.transpose(1, 2) @ v).shape)
