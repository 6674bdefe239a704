import torch, torch.nn as nn, torch.nn.functional as F
class M(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3*d)
        self.out = nn.Linear(d, d)
    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.h, C//self.h).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        o = F.scaled_dot_product_attention(q, k, v)
        o = o.permute(0, 2, 3, 1).reshape(B, N, C)  # expect: ATT042
        return self.out(o)
torch.manual_seed(0)
print(M(12, 3)(torch.randn(2, 5, 12)).shape)
