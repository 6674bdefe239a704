import torch
import torch.nn as nn
import torch.nn.functional as F

# 逐步演示多头注意力
torch.manual_seed(0)
batch_size, seq_len, d_model, num_heads = 2, 4, 8, 2
head_dim = d_model // num_heads

x = torch.randn(batch_size, seq_len, d_model)
W_q, W_k, W_v, W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

Q = W_q(x).view(batch_size, seq_len, num_heads, head_dim).transpose(1, 2)
K = W_k(x).view(batch_size, seq_len, num_heads, head_dim).transpose(1, 2)
V = W_v(x).view(batch_size, seq_len, num_heads, head_dim).transpose(1, 2)

scores = Q @ K.transpose(-2, -1) / head_dim ** 0.5
context = F.softmax(scores, dim=-1) @ V
print("每个头的输出", context.shape)
context = context.transpose(1, 2).contiguous().view(batch_size, seq_len, d_model)
print("合并之后", W_o(context).shape)
