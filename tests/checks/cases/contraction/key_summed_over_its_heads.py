import torch

torch.manual_seed(251)
B, L, H, d = 2, 5, 3, 4
x = torch.randn(B, L, H * d)
proj = torch.nn.Linear(H * d, 3 * H * d)
q, k, v = proj(x).view(B, L, 3, H, d).unbind(2)
energy = torch.einsum("bqhd,bkgd->bhqk", q, k)  # expect: ATT025
attention = torch.softmax(energy / d ** 0.5, dim=3)
out = torch.einsum("bhqk,bkhd->bqhd", attention, v).reshape(B, L, H * d)
print(out.shape)
