import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(d_model=12, nhead=3, dim_feedforward=24, dropout=0.1, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
attn = nn.MultiheadAttention(12, 3, dropout=0.2, batch_first=True)
x = torch.randn(2, 5, 12)
print("train", encoder(x).shape)
encoder.eval()
attn.eval()
h = encoder(x)
y, w = attn(h, h, h)
print("eval", y.shape, w.sum(-1))
