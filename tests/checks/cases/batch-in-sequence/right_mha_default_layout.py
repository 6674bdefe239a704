import torch
import torch.nn as nn

torch.manual_seed(232)
batch_size, seq_len, d_model = 2, 4, 8
x = torch.randn(batch_size, seq_len, d_model)
mha = nn.MultiheadAttention(d_model, 2, batch_first=True)
output, weights = mha(x, x, x)
print("输出形状:", output.shape)
