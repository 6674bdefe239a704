import torch
from torch import nn

torch.manual_seed(0)
decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(12, 3, 24, dropout=0.0, batch_first=True), num_layers=2)
tgt, memory = torch.randn(2, 5, 12), torch.randn(2, 5, 12)
mask = nn.Transformer.generate_square_subsequent_mask(5)
print(decoder(tgt, memory, tgt_mask=mask, tgt_is_causal=True).shape)
