import torch

torch.manual_seed(5)
B, L, H, D = 2, 6, 3, 4
x = torch.randn(B, L, H * D)
Wq, Wk, Wv = (torch.randn(H * D, H * D) / (H * D) ** 0.5 for _ in range(3))
q = (x @ Wq).view(B, L, H, D)
k = (x @ Wk).view(B, L, H, D)
v = (x @ Wv).view(B, L, H, D)

# scores: [B, L, L, H]
scores = torch.einsum("bqhd,bkhd->bqkh", q, k) * D ** -0.5
p = scores.softmax(-1)  # expect: ATT001
o = torch.einsum("bqkh,bkhd->bqhd", p, v).reshape(B, L, H * D)
print(o.shape, o.std().item())
