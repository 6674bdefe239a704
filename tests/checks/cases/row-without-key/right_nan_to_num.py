import torch

torch.manual_seed(4)
ids = torch.tensor([[0, 0, 5, 3, 8], [4, 9, 2, 6, 7]])
x = torch.nn.Embedding(10, 12)(ids)
q, k, v = torch.nn.Linear(12, 36)(x).chunk(3, -1)
blocked = torch.ones(5, 5).triu(1).bool() | (ids == 0)[:, None, :]
w = (q @ k.mT / 12**0.5).masked_fill(blocked, float("-inf")).softmax(-1)
w = torch.nan_to_num(w, nan=0.0)
print((w @ v).sum(-1))
