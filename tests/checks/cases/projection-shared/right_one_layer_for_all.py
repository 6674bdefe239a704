import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.proj_q, self.proj_k, self.proj_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        q = self.proj_q(x)
        k = self.proj_k(x)
        v = self.proj_v(x)
        a = torch.einsum("bid,bjd->bij", q, k) * self.d ** -0.5
        a = a.softmax(-1)
        return self.out(torch.einsum("bij,bjd->bid", a, v))


torch.manual_seed(0)
net = Attention(8)
out = net(torch.randn(2, 5, 8))
print(out.shape, out.std().item())
