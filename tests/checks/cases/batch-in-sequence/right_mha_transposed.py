import torch
import torch.nn as nn

torch.manual_seed(237)
tokens = torch.randint(0, 19, (3, 6))
emb, pos = nn.Embedding(19, 8), nn.Embedding(6, 8)
x = emb(tokens) + pos(torch.arange(6))
mha = nn.MultiheadAttention(8, 2)
h = x.transpose(0, 1)
out = mha(h, h, h)[0].transpose(0, 1)
print(out.mean(dim=1).shape)
