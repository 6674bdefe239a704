import torch

torch.manual_seed(135)
B, L, H, E = 2, 7, 3, 4
x = torch.randn(B, L, H * E)
w = torch.randn(3, H * E, H * E) / (H * E) ** 0.5
q, k, v = ((x @ w[i]).view(B, L, H, E).permute(0, 2, 1, 3) for i in range(3))
k_t = k.permute(0, 1, 3, 2)
scores = q @ k_t
scores = scores / k_t.shape[-2] ** 0.5
out = scores.softmax(-1) @ v
print(out.shape)
