import torch
import torch.nn as nn
torch.manual_seed(0)
x = torch.randn(3, 5, 8)
qkv = nn.Linear(8, 24)(x)
q, k, v = qkv.reshape(3, 3, 5, 8)  # expect: ATT043
w = torch.softmax(q @ k.transpose(-2, -1) / 8 ** 0.5, -1)
print((w @ v).shape)
