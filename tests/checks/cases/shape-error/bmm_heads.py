import torch
import torch.nn as nn


class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = self.qkv(x).view(b, l, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        s = torch.bmm(q, k.transpose(-2, -1)) * (d // self.h) ** -0.5  # expect: ATT121
        return torch.bmm(s.softmax(-1), v).transpose(1, 2).reshape(b, l, d)


torch.manual_seed(0)
print(MHA(12, 3)(torch.randn(2, 5, 12)).shape)
