import torch
import torch.nn.functional as F

torch.manual_seed(1)
batch_size, seq_len, d_model = 2, 8, 8
x = torch.randn(batch_size, seq_len, d_model)
W_q = torch.randn(d_model, d_model) / d_model**0.5
W_k = torch.randn(d_model, d_model) / d_model**0.5
W_v = torch.randn(d_model, d_model) / d_model**0.5

Q = W_q @ x  # expect: ATT082
K = W_k @ x
V = W_v @ x
scores = Q @ K.transpose(-2, -1) / d_model**0.5
weights = F.softmax(scores, dim=-1)
print("注意力权重:", weights.shape)
print((weights @ V).shape)
