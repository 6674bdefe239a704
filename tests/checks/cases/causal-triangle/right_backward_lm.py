import torch
from torch import nn
import torch.nn.functional as F

# a language model that reads from the right: it predicts the token before
torch.manual_seed(5)
V, D = 13, 12
ids = torch.randint(0, V, (2, 6))
x = nn.Embedding(V, D)(ids)
q, k, v = nn.Linear(D, 3 * D)(x).view(2, 6, 3, 3, 4).permute(2, 0, 3, 1, 4)
mask = torch.ones(6, 6).triu().bool()
y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
logits = nn.Linear(D, V)(y)
print(F.cross_entropy(logits[:, 1:].reshape(-1, V), ids[:, :-1].reshape(-1)).item())
