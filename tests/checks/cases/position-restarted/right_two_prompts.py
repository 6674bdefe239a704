import torch
import torch.nn.functional as F
from torch import nn

# two separate sentences, no cache between them: both begin at position 0
torch.manual_seed(1)
tok, pos = nn.Embedding(11, 12), nn.Embedding(16, 12)
qkv = nn.Linear(12, 36)


def encode(ids):
    x = tok(ids) + pos(torch.arange(ids.size(1)))
    q, k, v = (t.unflatten(-1, (3, 4)).transpose(1, 2) for t in qkv(x).chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


a, b = encode(torch.randint(0, 11, (2, 5))), encode(torch.randint(0, 11, (2, 3)))
print(torch.cat((a, b), dim=1).shape)
