"""Heads are summed in the output projection: einsum over h and d at once."""
import torch
import torch.nn as nn

torch.manual_seed(258)
B, L, D, H, d = 2, 5, 12, 3, 4
x = torch.randn(B, L, D)
wq, wk, wv = (nn.Parameter(torch.randn(D, H, d) / D ** 0.5) for _ in range(3))
wo = nn.Parameter(torch.randn(H, d, D) / D ** 0.5)
q, k, v = (torch.einsum("bld,dhe->bhle", x, w) for w in (wq, wk, wv))
p = (torch.einsum("bhqe,bhke->bhqk", q, k) * d ** -0.5).softmax(-1)
y = torch.einsum("bhqk,bhke,hed->bqd", p, v, wo)
print(y.shape)
