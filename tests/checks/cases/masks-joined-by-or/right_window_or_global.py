import torch

torch.manual_seed(5)
L = 7
q, k, v = torch.randn(3, 2, 3, L, 4)
i = torch.arange(L)
local = (i[:, None] - i[None, :]).abs() <= 1
glob = torch.zeros(L, dtype=torch.bool)
glob[0] = True
mask = local | glob[:, None] | glob[None, :]
scores = (q @ k.mT / 2.0).masked_fill(~mask, float("-inf"))
print((scores.softmax(-1) @ v).shape)
