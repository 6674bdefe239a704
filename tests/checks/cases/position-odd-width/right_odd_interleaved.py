import torch
from torch import nn

# 旋转位置编码, 每个头 5 维
torch.manual_seed(3)
B, H, L, d = 2, 2, 4, 5


def rope(x):
    L, d = x.shape[-2:]
    theta = 10000.0 ** (-torch.arange(0, d - 1, 2) / d)
    angle = torch.arange(L)[:, None] * theta
    even, odd = x[..., 0 : d - 1 : 2], x[..., 1::2]
    first = even * angle.cos() - odd * angle.sin()
    second = even * angle.sin() + odd * angle.cos()
    y = torch.stack((first, second), dim=-1).flatten(-2)
    return torch.cat((y, x[..., d - 1 :]), dim=-1)


x = torch.randn(B, L, H * d)
q, k, v = (nn.Linear(H * d, H * d)(x).view(B, L, H, d).transpose(1, 2) for _ in range(3))
w = torch.softmax(rope(q) @ rope(k).transpose(-2, -1) / d**0.5, dim=-1)
print((w @ v).shape)
