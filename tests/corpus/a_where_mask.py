import torch

torch.manual_seed(17)
n, d = 6, 9

# no batch axis at all: one sequence
seq = torch.randn(n, d)
Wq, Wk, Wv = (torch.randn(d, m) / d**0.5 for m in (4, 4, 7))

queries = seq @ Wq
keys = seq @ Wk
values = seq @ Wv

omega = queries @ keys.T                       # 未归一化的注意力分数
omega = omega / 4 ** 0.5
allowed = torch.ones(n, n, dtype=torch.bool).tril()
omega = torch.where(allowed, omega, -torch.inf)
alpha = torch.softmax(omega, dim=-1)
context = alpha @ values
print(context.shape)
print(alpha)
