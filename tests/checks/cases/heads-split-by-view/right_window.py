import torch
import torch.nn as nn
class WindowAttention(nn.Module):
    """Windows of 4 positions, as in Swin, one axis."""
    def __init__(self, d, h, w):
        super().__init__()
        self.h, self.w = h, w
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
    def forward(self, x):
        b, n, d = x.shape
        x = x.view(b, n // self.w, self.w, d).reshape(-1, self.w, d)
        qkv = self.qkv(x).reshape(-1, self.w, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        a = (q @ k.transpose(-2, -1) * (d // self.h) ** -0.5).softmax(-1)
        y = (a @ v).transpose(1, 2).reshape(-1, self.w, d)
        return self.o(y).view(b, n, d)
torch.manual_seed(0)
print(WindowAttention(12, 3, 4)(torch.randn(2, 8, 12)).shape)
