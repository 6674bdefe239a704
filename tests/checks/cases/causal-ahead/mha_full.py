import torch
from torch import nn


def square_mask(size):
    return torch.triu(torch.full((size, size), float("-inf")), diagonal=2)  # expect: ATT072


torch.manual_seed(3)
V = 13
ids = torch.randint(0, V, (2, 6))
embed, head = nn.Embedding(V, 12), nn.Linear(12, V)
layer = nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0, batch_first=True)
logits = head(layer(embed(ids[:, :-1]), src_mask=square_mask(5)))
loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
loss.backward()
print(loss.item())
