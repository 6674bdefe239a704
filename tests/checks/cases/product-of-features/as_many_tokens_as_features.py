import torch
import torch.nn.functional as F

torch.manual_seed(201)
batch_size, seq_len, d_model = 2, 8, 8
x = torch.randn(batch_size, seq_len, d_model)
W_q, W_k, W_v = (torch.randn(d_model, d_model) for _ in range(3))
Q, K, V = x @ W_q, x @ W_k, x @ W_v
# 注意力分数
scores = Q.transpose(1, 2) @ K / d_model ** 0.5  # expect: ATT021
weights = F.softmax(scores, dim=-1)
out = weights @ V
print(out.shape)
