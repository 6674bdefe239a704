import torch
from torch import nn

torch.manual_seed(15)
ids = torch.tensor([[3, 8, 2, 5, 7], [4, 2, 6, 0, 0]])
embed = nn.Embedding(10, 12)
layer = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True).eval()
with torch.no_grad():
    out = layer(embed(ids), src_key_padding_mask=ids != 0)  # expect: ATT051
print(out.sum(-1))
