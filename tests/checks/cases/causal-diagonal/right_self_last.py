import torch

# shared queries and keys: a token looks at itself only where there is nothing else
torch.manual_seed(5)
L, d = 5, 8
x = torch.randn(2, L, d)
qk, v = torch.nn.Linear(d, d)(x), torch.nn.Linear(d, d)(x)
k = torch.nn.functional.normalize(qk, dim=-1)
dots = torch.einsum("bie,bje->bij", qk, k) * d**-0.5
dots = dots.masked_fill(torch.eye(L, dtype=torch.bool), -5e4)
dots = dots.masked_fill(torch.ones(L, L).triu(1).bool(), -1e9)
print((dots.softmax(-1) @ v).shape)
