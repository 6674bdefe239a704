import torch
import torch.nn as nn
import torch.nn.functional as F
class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.d_k = h, d // h
        n = self.d_k
        self.wq = nn.Linear(n, n)
        self.wk = nn.Linear(n, n)
        self.wv = nn.Linear(n, n)
        self.wo = nn.Linear(d, d)
    def split(self, t):
        b, n, d = t.shape
        return t.view(b, n, self.h, self.d_k).transpose(1, 2)
    def forward(self, x):
        b, n, d = x.shape
        q = self.wq(self.split(x))  # expect: ATT037
        k = self.wk(self.split(x))  # expect: ATT037
        v = self.wv(self.split(x))  # expect: ATT037
        o = F.scaled_dot_product_attention(q, k, v)
        return self.wo(o.transpose(1, 2).reshape(b, n, d))
torch.manual_seed(0)
print(MHA(12, 3)(torch.randn(2, 5, 12)).shape)
