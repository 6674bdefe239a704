# the attention block of a diffusion U-Net: GroupNorm over channels, then tokens are pixels
import torch
import torch.nn.functional as F
from torch import nn


class AttnBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.GroupNorm(4, c, eps=1e-6)
        self.q, self.k, self.v, self.proj = (nn.Conv2d(c, c, 1) for _ in range(4))

    def forward(self, x):
        b, c, h, w = x.shape
        n = self.norm(x)
        q, k, v = (f(n).flatten(2).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = F.softmax(torch.bmm(q, k.transpose(1, 2)) * c**-0.5, dim=-1)
        y = torch.bmm(weights, v).transpose(1, 2).reshape(b, c, h, w)
        return x + self.proj(y)


torch.manual_seed(0)
print(AttnBlock(12)(torch.randn(2, 12, 2, 3)).shape)
