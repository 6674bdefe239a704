import torch
import torch.nn as nn


class AttnBlock(nn.Module):
    """Convolutions put the channels first: dim=1 is where q, k and v are cut."""

    def __init__(self, c):
        super().__init__()
        self.qkv = nn.Conv2d(c, 3 * c, 1)
        self.proj = nn.Conv2d(c, c, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=1)
        q, k, v = q.flatten(2), k.flatten(2), v.flatten(2)
        a = torch.softmax(torch.bmm(q.transpose(1, 2), k) * c ** -0.5, dim=-1)
        return x + self.proj(torch.bmm(v, a.transpose(1, 2)).view(b, c, h, w))


torch.manual_seed(0)
print(AttnBlock(6)(torch.randn(2, 6, 3, 4)).shape)
