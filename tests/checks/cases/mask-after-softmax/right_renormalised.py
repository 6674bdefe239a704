import torch

torch.manual_seed(6)
ids = torch.tensor([[4, 2, 7, 5, 3], [6, 8, 0, 0, 0]])
x = torch.nn.Embedding(10, 12)(ids)
q, k, v = torch.nn.Linear(12, 36)(x).chunk(3, -1)
w = (q @ k.mT / 12**0.5).softmax(-1)
w = w.masked_fill((ids == 0)[:, None, :], 0.0)
w = w / w.sum(-1, keepdim=True).clamp(min=1e-9)
print((w @ v).shape)
