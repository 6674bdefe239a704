import torch

torch.manual_seed(262)
B, L, H, d = 2, 4, 4, 2
x = torch.randn(B, L, H * d)
wq, wk, wv = (torch.randn(H * d, H * d) for _ in range(3))
q, k, v = ((x @ w).reshape(B, L, H, d) for w in (wq, wk, wv))
q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
mask = torch.ones(L, L).triu(1).bool()
s = q @ k.transpose(-1, -2) / d ** 0.5
p = s.masked_fill(mask, float("-inf")).softmax(-1)
o = p @ v
o = o.transpose(1, 2)
print("结果:", o.reshape(B, L, H * d).shape)
