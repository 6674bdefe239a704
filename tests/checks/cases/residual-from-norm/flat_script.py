import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
batch_size, seq_len, d_model = 2, 4, 8
x = torch.randn(batch_size, seq_len, d_model)
Wq, Wk, Wv, Wo = (torch.randn(d_model, d_model) / d_model**0.5 for _ in range(4))
W1, W2 = torch.randn(d_model, 32) / 3, torch.randn(32, d_model) / 6

# 第一个子层：注意力
h = F.layer_norm(x, (d_model,))
q, k, v = h @ Wq, h @ Wk, h @ Wv
attn = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(d_model), dim=-1) @ v
x = h + attn @ Wo  # expect: ATT111

# 第二个子层：前馈
h = F.layer_norm(x, (d_model,))
y = x + F.relu(h @ W1) @ W2
print(y.shape)
