import math
import torch
import torch.nn.functional as F

torch.manual_seed(0)
batch_size, seq_len, d_model = 2, 4, 8
x = torch.randn(batch_size, seq_len, d_model)

W_q = torch.randn(d_model, d_model)
W_k = torch.randn(d_model, d_model)
W_v = torch.randn(d_model, d_model)

Q = x @ W_q
K = x @ W_k
V = x @ W_v

scores = Q @ K.transpose(-2, -1) / math.sqrt(d_model)
attn = F.softmax(scores, dim=-1)
out = attn @ V
print(out.shape)
print(attn[0])
