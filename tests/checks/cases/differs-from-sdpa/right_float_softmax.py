import math

import torch

torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 5, 4, dtype=torch.bfloat16) for _ in range(3))
s = q @ k.transpose(-2, -1) / math.sqrt(4)
w = torch.softmax(s.float(), dim=-1).to(q.dtype)
print((w @ v)[0, 0])
