import torch
from torch import nn

# a tag for every token, at the token's own place
torch.manual_seed(9)
ids, tags = torch.randint(0, 20, (2, 5)), torch.randint(0, 4, (2, 5))
x = nn.Embedding(20, 12)(ids)
q, k, v = nn.Linear(12, 36)(x).chunk(3, -1)
h = (q @ k.transpose(1, 2) / 12**0.5).softmax(-1) @ v
logits = nn.Linear(12, 4)(h)
print(nn.functional.cross_entropy(logits.transpose(1, 2), tags).item())
