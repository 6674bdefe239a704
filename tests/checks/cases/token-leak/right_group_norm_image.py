import torch
from torch import nn


class AttnBlock(nn.Module):
    """The attention block of diffusion models: group norm over the image, 1x1 convolutions."""

    def __init__(self, c):
        super().__init__()
        self.norm = nn.GroupNorm(2, c)
        self.q, self.k, self.v, self.proj = (nn.Conv2d(c, c, 1) for _ in range(4))

    def forward(self, x):
        h = self.norm(x)
        b, c, hh, ww = h.shape
        q = self.q(h).reshape(b, c, hh * ww).permute(0, 2, 1)
        k = self.k(h).reshape(b, c, hh * ww)
        w = torch.softmax(torch.bmm(q, k) * c**-0.5, dim=2)
        v = self.v(h).reshape(b, c, hh * ww)
        out = torch.bmm(v, w.permute(0, 2, 1)).reshape(b, c, hh, ww)
        return x + self.proj(out)


torch.manual_seed(6)
print(AttnBlock(8)(torch.randn(2, 8, 3, 4)).shape)
