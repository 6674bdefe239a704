import torch

torch.manual_seed(9)
B, L, D = 2, 5, 6
x = torch.randn(B, L, D)
q = torch.nn.Linear(D, D)(x)
k = torch.nn.Linear(D, D)(x)
v = torch.nn.Linear(D, D)(x)

# 每对词元逐维相乘: [B, L, L, D]
pairs = q.unsqueeze(2) * k.unsqueeze(1)
weights = torch.softmax(pairs / D ** 0.5, dim=-1).sum(-1)  # expect: ATT001
out = weights @ v
print(out.shape)
print(out[0, 0])
