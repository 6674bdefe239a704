import torch
import torch.nn as nn
import torch.nn.functional as F
class SA(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
    def forward(self, x):
        q = self.q(x)
        k, v = self.k(x), self.v(x)
        return F.scaled_dot_product_attention(q, k, v)
torch.manual_seed(0)
net = SA(8)
print(net(torch.randn(2, 5, 8)).shape)
