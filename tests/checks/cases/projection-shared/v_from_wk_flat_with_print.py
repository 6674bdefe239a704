import torch
import torch.nn as nn
torch.manual_seed(0)
x = torch.randn(2, 4, 8)
W_q = nn.Linear(8, 8); W_k = nn.Linear(8, 8); W_v = nn.Linear(8, 8)
Q = W_q(x)
K = W_k(x)
V = W_k(x)  # expect: ATT031
print("Q", Q.shape, "K", K.shape, "V", V.shape)
A = torch.softmax(Q @ K.transpose(-2, -1) / 8 ** 0.5, dim=-1)
print(A @ V)
