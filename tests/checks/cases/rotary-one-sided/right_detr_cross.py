import math
import torch
from torch import nn

# object queries: learned positions on the query, sine positions on the key, none on the value
torch.manual_seed(1)
d, n_mem, n_obj = 12, 7, 4
pos = torch.arange(n_mem)[:, None] * torch.exp(-math.log(10000) * torch.arange(0, d, 2) / d)
pos = torch.stack((pos.sin(), pos.cos()), -1).flatten(1)
memory, tgt, query_pos = torch.randn(2, n_mem, d), torch.zeros(2, n_obj, d), nn.Embedding(n_obj, d).weight
wq, wk, wv = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
q, k, v = wq(tgt + query_pos), wk(memory + pos), wv(memory)
w = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d), -1)
print((w @ v).shape)
