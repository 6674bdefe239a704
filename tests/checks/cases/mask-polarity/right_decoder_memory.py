import torch
from torch import nn

torch.manual_seed(10)
PAD = 0
src = torch.tensor([[4, 8, 3, 9, 2, 6], [7, 5, 2, PAD, PAD, PAD]])
tgt = torch.tensor([[2, 6, 3, 5], [2, 9, 4, 7]])
embed = nn.Embedding(12, 12)
decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 3, 24, 0.0, batch_first=True), 1)
future = torch.ones(4, 4).triu(1).bool()
hidden = decoder(embed(tgt), embed(src), tgt_mask=future, memory_key_padding_mask=src.eq(PAD))
print(hidden.shape)
