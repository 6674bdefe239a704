import torch

torch.manual_seed(16)
mask = torch.tensor([1, 1, 1, 0])
x = torch.randn(4, 8)
q, k, v = torch.nn.Linear(8, 24)(x).chunk(3, -1)
scores = q @ k.T / 8**0.5
scores = scores.masked_fill(mask == 0, -1e9)
weights = torch.softmax(scores, dim=-1)
print(weights)
print(weights @ v)
