import torch
from torch import nn

torch.manual_seed(5)
tokens = torch.tensor([[3, 9, 5, 2, 7], [8, 4, 0, 0, 0]])
embed = nn.Embedding(10, 12)
encoder = nn.TransformerEncoderLayer(12, 3, 24, dropout=0.0, batch_first=True)
padding = (tokens == 0).float() * -1e9
h = encoder(embed(tokens), src_key_padding_mask=padding)
print(h[1, 0])
