import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)

B, L, H, DK = 2, 6, 4, 4          # as many heads as features in a head, on purpose


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(10, H * DK), nn.Linear(10, H * DK), nn.Linear(10, H * DK)
        self.o = nn.Linear(H * DK, 10)

    def forward(self, x):
        b, n, _ = x.size()
        q = self.q(x).view(b, n, H, DK).permute(0, 2, 1, 3)    # b, h, n, d
        # split the heads and transpose the keys in one go
        k = self.k(x).view(b, n, H, DK).permute(0, 2, 3, 1)    # b, h, d, n
        v = self.v(x).view(b, n, H, DK).permute(0, 2, 1, 3)
        s = q.matmul(k).div(DK ** 0.5)
        a = F.softmax(s, -1)
        z = a.matmul(v).permute(0, 2, 1, 3).flatten(2)
        return self.o(z)


print(Heads()(torch.randn(B, L, 10)).sum(dim=(1, 2)))
