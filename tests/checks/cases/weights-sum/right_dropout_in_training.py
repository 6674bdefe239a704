import math
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
        return self.drop(w) @ v


torch.manual_seed(59)
net = Attention(8)
loss = net(torch.randn(2, 5, 8)).pow(2).mean()
loss.backward()
print(loss.item())
