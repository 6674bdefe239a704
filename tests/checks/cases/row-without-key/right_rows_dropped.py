import torch

torch.manual_seed(5)
ids = torch.tensor([[4, 7, 2, 9, 5], [8, 3, 6, 0, 0]])
keep = ids != 0
with torch.no_grad():
    q, k, v = torch.nn.Linear(12, 36)(torch.nn.Embedding(10, 12)(ids)).chunk(3, -1)
    pair = keep[:, :, None] & keep[:, None, :]
    w = (q @ k.mT / 12**0.5).masked_fill(~pair, float("-inf")).softmax(-1)
    out = (w @ v)[keep]
print(out.shape, out.mean())
