import torch
import torch.nn.functional as F
from torch import nn


class ConvProjection(nn.Module):
    """CvT: q, k, v by a depthwise convolution over the grid, then a pointwise one."""

    def __init__(self, d, stride):
        super().__init__()
        self.dw, self.bn, self.pw = nn.Conv2d(d, d, 3, stride, 1, groups=d, bias=False), nn.BatchNorm2d(d), nn.Linear(d, d)

    def forward(self, x, size):
        x = x.transpose(1, 2).unflatten(2, size)
        return self.pw(self.bn(self.dw(x)).flatten(2).transpose(1, 2))


torch.manual_seed(0)
x, size = torch.randn(2, 12, 8), (3, 4)
proj = nn.ModuleList([ConvProjection(8, 1), ConvProjection(8, 2), ConvProjection(8, 2)]).eval()
q, k, v = (p(x, size).unflatten(-1, (2, 4)).transpose(1, 2) for p in proj)
print(F.scaled_dot_product_attention(q, k, v).shape)
