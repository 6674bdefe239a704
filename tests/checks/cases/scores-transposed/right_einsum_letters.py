import torch

torch.manual_seed(211)
B, L, H, d = 2, 5, 3, 4
x = torch.randn(B, L, H * d)
wq, wk, wv = (torch.randn(H * d, H * d) / (H * d) ** 0.5 for _ in range(3))
query = (x @ wq).view(B, L, H, d)
key = (x @ wk).view(B, L, H, d)
value = (x @ wv).view(B, L, H, d)
scores = torch.einsum("bqhd,bkhd->bhqk", query, key) / d ** 0.5
weights = scores.softmax(dim=-1)
out = torch.einsum("bhqk,bkhd->bqhd", weights, value)
print(out.shape)
