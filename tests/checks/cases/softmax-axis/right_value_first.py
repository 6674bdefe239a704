"""Columns are tokens, as in the papers of some: everything is D x L."""
import torch

torch.manual_seed(22)
B, D, L = 2, 8, 5
x = torch.randn(B, D, L)
Wq, Wk, Wv = torch.randn(3, D, D) / D ** 0.5
Q, K, V = Wq @ x, Wk @ x, Wv @ x
A = torch.softmax(K.transpose(1, 2) @ Q / D ** 0.5, dim=1)      # [B, keys, queries]
Y = V @ A
print(Y.shape, A.sum(1)[0])
