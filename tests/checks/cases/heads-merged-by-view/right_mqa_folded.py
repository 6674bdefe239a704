import torch
import torch.nn as nn
class MQA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * self.dk), nn.Linear(d, d)
    def forward(self, x):
        b, n, d = x.shape
        k, v = self.kv(x).chunk(2, dim=-1)
        q = self.q(x).view(b, n * self.h, self.dk)
        w = torch.softmax(q @ k.transpose(1, 2) / self.dk ** 0.5, dim=-1)
        return self.o((w @ v).view(b, n, d))
torch.manual_seed(0)
print(MQA(12, 3)(torch.randn(2, 5, 12)).shape)
