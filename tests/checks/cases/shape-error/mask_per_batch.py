import torch

torch.manual_seed(0)
B, H, L, dk = 2, 3, 5, 4
q, k, v = (torch.randn(B, H, L, dk) for _ in range(3))
keep = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
scores = q @ k.transpose(-2, -1) / dk**0.5
scores = scores.masked_fill(keep == 0, float("-inf"))  # expect: ATT121
print(torch.softmax(scores, -1) @ v)
