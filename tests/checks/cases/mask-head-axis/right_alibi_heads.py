import torch

torch.manual_seed(5)
B, H, L, d = 2, 2, 5, 4
q, k, v = torch.randn(3, B, H, L, d)
slopes = torch.tensor([2.0 ** (-8 * (h + 1) / H) for h in range(H)])
position = torch.arange(L)
bias = -slopes[:, None, None] * (position[:, None] - position[None, :]).clamp(min=0)
future = torch.full((L, L), float("-inf")).triu(1)
scores = q @ k.transpose(-2, -1) / d**0.5 + bias + future
print((scores.softmax(-1) @ v).shape)
