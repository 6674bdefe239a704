import torch

torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 5, 64, dtype=torch.half) * s for s in (100, 100, 1))
scores = q.float() @ k.float().transpose(-2, -1) * 64**-0.5
weights = scores.softmax(-1)
print((weights.half() @ v).dtype)
