import torch
from torch import nn
import torch.nn.functional as F

# masked language modelling: the labels are the tokens that were hidden, at their own places
torch.manual_seed(7)
MASK, V, D = 1, 20, 12
ids = torch.randint(2, V, (2, 6))
hidden = torch.zeros(2, 6, dtype=torch.bool)
hidden[:, [1, 4]] = True
inputs = ids.masked_fill(hidden, MASK)
labels = ids.masked_fill(~hidden, -100)
x = nn.Embedding(V, D)(inputs)
q, k, v = nn.Linear(D, 3 * D)(x).view(2, 6, 3, 3, 4).permute(2, 0, 3, 1, 4)
y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
logits = nn.Linear(D, V)(y)
print(F.cross_entropy(logits.view(-1, V), labels.view(-1), ignore_index=-100).item())
