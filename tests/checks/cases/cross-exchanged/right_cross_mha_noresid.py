import torch
import torch.nn as nn
torch.manual_seed(0)
attn = nn.MultiheadAttention(8, 2, batch_first=True)
decoder = torch.randn(2, 3, 8)
encoder = torch.randn(2, 6, 8)
out, w = attn(decoder, encoder, encoder)
print(out.shape, w.shape)
