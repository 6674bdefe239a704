import torch

torch.manual_seed(0)
L, d = 5, 12
x = torch.randn(2, L, d) * 12
Wq, Wk, Wv = torch.randn(d, d), torch.randn(d, d), torch.randn(d, d)
q, k, v = x @ Wq, x @ Wk, x @ Wv
s = q @ k.transpose(1, 2) / d**0.5
e = torch.exp(s)  # expect: ATT104
w = e / e.sum(dim=-1, keepdim=True)
print(w @ v)
