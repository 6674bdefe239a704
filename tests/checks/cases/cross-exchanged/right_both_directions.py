import torch
from torch import nn


class CoAttention(nn.Module):
    """Image and text read each other, each keeps its own residual."""

    def __init__(self, d, h):
        super().__init__()
        self.t2i = nn.MultiheadAttention(d, h, batch_first=True)
        self.i2t = nn.MultiheadAttention(d, h, batch_first=True)

    def forward(self, text, image):
        new_text = text + self.t2i(text, image, image)[0]
        new_image = image + self.i2t(image, text, text)[0]
        return new_text, new_image


torch.manual_seed(0)
t, i = CoAttention(8, 2)(torch.randn(2, 5, 8), torch.randn(2, 5, 8))
print(t.shape, i.shape)
