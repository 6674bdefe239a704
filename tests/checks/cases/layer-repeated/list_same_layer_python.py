import torch
import torch.nn as nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x):
        w = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) / x.size(-1) ** 0.5, -1)
        return x + w @ self.v(x)
class Net(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        block = Block(d)
        self.blocks = nn.ModuleList()
        for _ in range(n):
            self.blocks.append(block)  # expect: ATT035
    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return x
torch.manual_seed(0)
print(Net(8, 3)(torch.randn(2, 5, 8)).shape)
