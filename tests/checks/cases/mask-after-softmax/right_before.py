import torch

torch.manual_seed(2)
L, d = 5, 12
x = torch.randn(2, L, d)
q, k, v = (torch.nn.Linear(d, d)(x) for _ in range(3))
future = torch.triu(torch.ones(L, L), 1).bool()
s = torch.einsum("bid,bjd->bij", q, k) / d**0.5
s = s.masked_fill(future, -1e9)
p = torch.softmax(s, dim=-1)
print(torch.einsum("bij,bjd->bid", p, v)[0, -1])
