import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(33)
ids = torch.tensor([[5, 3, 8, 0, 0], [4, 9, 2, 6, 7]])
q, k, v = nn.Linear(12, 36)(nn.Embedding(10, 12)(ids)).chunk(3, -1)
blocked = torch.ones(5, 5).triu(1).bool() | (ids == 0)[:, None, :]
print(F.scaled_dot_product_attention(q, k, v, attn_mask=~blocked).shape)
