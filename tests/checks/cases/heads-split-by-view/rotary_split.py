import torch, torch.nn as nn
def rotate(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)
class Attn(nn.Module):
    def __init__(s, d, h):
        super().__init__()
        s.h, s.dk = h, d // h
        s.q, s.k, s.v, s.o = (nn.Linear(d, d, bias=False) for _ in range(4))
    def forward(s, x):
        b, n, d = x.shape
        q = s.q(x).view(b, s.h, n, s.dk)  # expect: ATT041
        k = s.k(x).view(b, s.h, n, s.dk)  # expect: ATT041
        v = s.v(x).view(b, s.h, n, s.dk)  # expect: ATT041
        pos = torch.arange(n)[:, None]
        f = 10000 ** (-torch.arange(0, s.dk, 2) / s.dk)
        ang = torch.cat([pos * f, pos * f], dim=-1)
        q = q * ang.cos() + rotate(q) * ang.sin()
        k = k * ang.cos() + rotate(k) * ang.sin()
        w = torch.softmax(q @ k.transpose(-1, -2) / s.dk ** 0.5, -1)
        return s.o((w @ v).transpose(1, 2).reshape(b, n, d))
torch.manual_seed(0)
print(Attn(12, 3)(torch.randn(2, 5, 12)).shape)
