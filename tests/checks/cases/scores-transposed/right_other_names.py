"""Named otherwise: who looks is 'a', who is looked at is 'b'."""
import torch
import torch.nn as nn


class Look(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        b = self.b(x)
        a = self.a(x)
        return (b @ a.mT / x.size(-1) ** 0.5).softmax(-1) @ self.c(x)


torch.manual_seed(215)
print(Look(8)(torch.randn(2, 4, 8)).shape)
