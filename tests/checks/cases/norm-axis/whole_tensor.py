import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(2, 5, 12)
x = (x - x.mean()) / x.std()  # 标准化输入
Wq, Wk, Wv = (torch.randn(12, 12) / 12**0.5 for _ in range(3))
q, k, v = x @ Wq, x @ Wk, x @ Wv
a = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(12), dim=-1) @ v

y = x + a
y = (y - y.mean()) / (y.std() + 1e-5)  # expect: ATT112
W1, W2 = torch.randn(12, 24) / 4, torch.randn(24, 12) / 5
z = F.layer_norm(y + torch.relu(y @ W1) @ W2, (12,))
print(z.shape)
