import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, h, p=0.1):
        super().__init__()
        self.h, self.p = h, p
        self.qkv = nn.Linear(d, 3 * d, bias=False)

    def forward(self, x):
        b, l, d = x.shape
        q, k, v = self.qkv(x).view(b, l, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        w = torch.softmax(q @ k.transpose(-2, -1) * q.size(-1) ** -0.5, -1)
        m = torch.bernoulli(torch.full_like(w, 1 - self.p))  # expect: ATT101
        w = w * m / (1 - self.p)
        return (w @ v).transpose(1, 2).reshape(b, l, d)


torch.manual_seed(0)
net = Attention(12, 3)
net.eval()
x = torch.randn(2, 5, 12)
print((net(x) - net(x)).abs().max())
