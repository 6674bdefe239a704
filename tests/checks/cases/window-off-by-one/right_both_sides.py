import torch

torch.manual_seed(4)
L, window = 9, 4
q, k, v = torch.randn(3, 2, 3, L, 4)
i = torch.arange(L)
near = (i[:, None] - i[None, :]).abs() <= window // 2
scores = (q @ k.mT / 2.0).masked_fill(~near, float("-inf"))
print((scores.softmax(-1) @ v).shape)
