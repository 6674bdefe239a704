import torch

torch.manual_seed(7)
ids = torch.tensor([[4, 6, 2, 8, 1], [3, 5, 0, 0, 0]])
m = ids != 0
x = torch.nn.Embedding(10, 12)(ids)
q, k, v = torch.nn.Linear(12, 36)(x).chunk(3, -1)
pair = m[:, :, None] & m[:, None, :]
scores = (q @ k.transpose(1, 2)) / 12**0.5
scores = scores.masked_fill(~pair, -1e9)
out = scores.softmax(-1) @ v
print(out[m].mean())
