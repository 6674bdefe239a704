import math
import torch
import torch.nn as nn

torch.manual_seed(175)
x = torch.randn(2, 5, 8)
q, k, v = nn.Linear(8, 24)(x).chunk(3, -1)
w = torch.softmax(q @ k.mT / math.sqrt(8), -1)
p = 0.25
keep = (torch.rand_like(w) > p).float()
print(((w * keep / (1 - p)) @ v).shape)
