import torch
import torch.nn as nn

torch.manual_seed(13)

layer = nn.TransformerEncoderLayer(d_model=12, nhead=4, dim_feedforward=20, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=3)
encoder.eval()

tokens = torch.randn(2, 5, 12)

# inference only: the fused path is taken
with torch.inference_mode():
    out = encoder(tokens)

print(out.shape)
print(out[0, 0, :4])
