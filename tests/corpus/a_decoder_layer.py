import torch
from torch.nn import Transformer, TransformerDecoderLayer

torch.manual_seed(15)

T, S = 4, 9            # target and source lengths
dec = TransformerDecoderLayer(d_model=15, nhead=3, dim_feedforward=24, dropout=0.0, batch_first=True)

target = torch.rand(2, T, 15)
source = torch.rand(2, S, 15)
mask = Transformer.generate_square_subsequent_mask(T)

y = dec(target, source, tgt_mask=mask)
print("decoded", tuple(y.shape), round(y.pow(2).sum().item(), 3))
