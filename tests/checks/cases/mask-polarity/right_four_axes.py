import torch

torch.manual_seed(17)
B, H, L, d = 2, 3, 5, 4
q, k, v = torch.randn(3, B, H, L, d)
mask = torch.ones(B, 1, 1, L)
mask[1, :, :, 3:] = 0
scores = q @ k.transpose(-2, -1) / d**0.5
scores = scores.masked_fill(mask == 0, float("-inf"))
print((scores.softmax(-1) @ v)[1, 0])
