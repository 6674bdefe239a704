import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 5, 8)
to_q, to_k = nn.Linear(8, 4), nn.Linear(8, 4)

# 值就是输入本身：只学“看哪里”，不学“看到什么”
scores = to_q(x) @ to_k(x).transpose(1, 2) / 4 ** 0.5
y = scores.softmax(dim=-1) @ x
print(y.shape)
