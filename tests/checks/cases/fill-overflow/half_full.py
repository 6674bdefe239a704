import torch

torch.manual_seed(7)
q, k, v = torch.randn(3, 2, 3, 5, 4).half()
mask = torch.full((5, 5), -1e9, dtype=torch.float16).triu(1)  # expect: ATT061
weights = torch.softmax(q @ k.mT / 2 + mask, dim=-1)
print((weights @ v)[0, 0])
