import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.d = d

    def forward(self, x):
        sim = torch.einsum("bid,bjd->bij", self.q(x), self.k(x)) / self.d ** 0.5
        e = torch.exp(sim - sim.amax(dim=-1, keepdim=True))
        attn = F.normalize(e, p=1, dim=-1)
        return torch.einsum("bij,bjd->bid", attn, self.v(x))


torch.manual_seed(54)
print(Attention(7)(torch.randn(2, 5, 7)).shape)
