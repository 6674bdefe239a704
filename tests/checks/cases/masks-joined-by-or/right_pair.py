import torch
from torch import nn

# rows of padding see everything, so that none is empty; they are left out afterwards
torch.manual_seed(35)
ids = torch.tensor([[4, 7, 2, 9, 5], [8, 3, 6, 0, 0]])
keep = ids != 0
q, k, v = nn.Linear(12, 36)(nn.Embedding(10, 12)(ids)).chunk(3, -1)
pair = ~keep[:, :, None] | keep[:, None, :]
scores = (q @ k.mT / 12**0.5).masked_fill(~pair, float("-inf"))
print((scores.softmax(-1) @ v)[keep].shape)
