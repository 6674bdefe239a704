import torch
from torch import nn
import torch.nn.functional as F

# the prompt is read both ways; the loss is over what follows it
torch.manual_seed(10)
V, D, P = 20, 12, 3
ids = torch.randint(0, V, (2, 7))
L = ids.size(1)
x = nn.Embedding(V, D)(ids)
q, k, v = nn.Linear(D, 3 * D)(x).view(2, L, 3, 3, 4).permute(2, 0, 3, 1, 4)
mask = torch.ones(L, L).tril().bool()
mask[:, :P] = True
y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
logits = nn.Linear(D, V)(y)
loss = F.cross_entropy(logits[:, P - 1 : -1].reshape(-1, V), ids[:, P:].reshape(-1))
print(loss.item())
