import torch
import torch.nn as nn
torch.manual_seed(0)
x = torch.randn(2, 4, 8)
W_q = nn.Linear(8, 8); W_k = nn.Linear(8, 8); W_v = nn.Linear(8, 8)
Q, K = W_q(x), W_k(x)
V = W_v(x)
print("Q", Q.shape, "K", K.shape, "V", V.shape)
A = torch.softmax(Q @ K.transpose(-2, -1) / 8 ** 0.5, dim=-1)
out = A @ V
print(out)
