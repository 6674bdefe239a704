"""The first attention's output goes into the second: two softmaxes, each of its own scores."""
import torch
import torch.nn as nn


class Co(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b = nn.Linear(d, 3 * d), nn.Linear(d, 3 * d)
        self.d = d

    def attend(self, q, k, v):
        return torch.softmax(q @ k.transpose(1, 2) / self.d ** 0.5, -1) @ v

    def forward(self, x):
        y = self.attend(*self.a(x).chunk(3, -1))
        return self.attend(*self.b(y).chunk(3, -1))


torch.manual_seed(45)
print(Co(6)(torch.randn(2, 5, 6)).shape)
