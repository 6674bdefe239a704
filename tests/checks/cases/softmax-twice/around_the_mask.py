import torch

torch.manual_seed(41)
B, H, L, D = 2, 3, 5, 4
x = torch.randn(B, L, H * D)
qkv = torch.nn.Linear(H * D, 3 * H * D)(x).view(B, L, 3, H, D).permute(2, 0, 3, 1, 4)
q, k, v = qkv[0], qkv[1], qkv[2]

s = torch.einsum("bhid,bhjd->bhij", q, k) / D ** 0.5
s = s.softmax(-1)
mask = torch.ones(L, L).triu(1).bool()
s = s.masked_fill(mask, float("-inf"))
p = s.softmax(-1)  # expect: ATT003
y = torch.einsum("bhij,bhjd->bhid", p, v).transpose(1, 2).reshape(B, L, H * D)
print(y[0, -1])
