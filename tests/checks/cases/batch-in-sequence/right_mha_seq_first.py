import torch
import torch.nn as nn

torch.manual_seed(236)
seq_len, batch_size, d_model = 5, 2, 8
x = torch.randn(seq_len, batch_size, d_model)
mha = nn.MultiheadAttention(d_model, 2)
out, _ = mha(x, x, x)
print(out.shape)
