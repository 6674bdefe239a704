import torch
import torch.nn as nn
class Diff(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h // 2
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.lam = nn.Parameter(torch.tensor(0.3))
    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, 2 * self.h, self.dk).transpose(1, 2)
        k = self.k(x).view(b, n, 2 * self.h, self.dk).transpose(1, 2)
        v = self.v(x).view(b, n, self.h, 2 * self.dk).transpose(1, 2)
        a = torch.softmax(q @ k.transpose(-1, -2) / self.dk ** 0.5, -1).view(b, self.h, 2, n, n)
        a = a[:, :, 0] - self.lam * a[:, :, 1]
        return self.o((a @ v).transpose(1, 2).reshape(b, n, d))
torch.manual_seed(0)
print(Diff(16, 2)(torch.randn(2, 5, 16)).shape)
