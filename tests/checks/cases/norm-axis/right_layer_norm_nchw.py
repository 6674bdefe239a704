# ConvNeXt style: LayerNorm over the channels of an image, by permuting
import torch
from torch import nn


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Net(nn.Module):
    def __init__(self, c, h):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 2, 2)
        self.norm = LayerNorm2d(c)
        self.attn = nn.MultiheadAttention(c, h, batch_first=True)

    def forward(self, x):
        x = self.norm(self.stem(x))
        b, c, h, w = x.shape
        t = x.flatten(2).transpose(1, 2)
        t = t + self.attn(t, t, t, need_weights=False)[0]
        return t.transpose(1, 2).reshape(b, c, h, w)


torch.manual_seed(0)
print(Net(12, 3)(torch.randn(2, 3, 4, 6)).shape)
