import torch
import torch.nn as nn


class ImageAttention(nn.Module):
    """SAGAN 风格的自注意力"""

    def __init__(self, channels):
        super().__init__()
        self.f = nn.Conv1d(channels, channels // 2, 1)
        self.g = nn.Conv1d(channels, channels // 2, 1)
        self.h = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        q = self.f(x).transpose(1, 2)
        k = self.g(x)
        v = self.h(x)
        a = torch.softmax(torch.bmm(q, k) / q.size(-1) ** 0.5, dim=-1)
        return torch.bmm(v, a.transpose(1, 2))


torch.manual_seed(222)
print(ImageAttention(8)(torch.randn(2, 8, 6)).shape)
