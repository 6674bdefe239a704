import torch

torch.manual_seed(12)
L, D = 5, 8
x = torch.randn(L, D)
wq, wk, wv = torch.randn(D, 4), torch.randn(D, 4), torch.randn(D, 4)
q, k, v = x @ wq, x @ wk, x @ wv
s = q @ k.T / 2.0
e = torch.exp(s - s.max())
a = e / e.sum(dim=0, keepdim=True)  # expect: ATT001
print(a @ v)
