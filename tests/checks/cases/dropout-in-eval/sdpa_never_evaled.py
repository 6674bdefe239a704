import torch
import torch.nn as nn
import torch.nn.functional as F

class Attn(nn.Module):
    def __init__(self, d=12, h=3, dropout=0.1):
        super().__init__()
        self.h, self.dropout = h, dropout
        self.qkv = nn.Linear(d, 3*d)
    def forward(self, x):
        b, l, d = x.shape
        q, k, v = (t.view(b, l, self.h, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)  # expect: ATT101
        return y.transpose(1, 2).reshape(b, l, d)

torch.manual_seed(0)
m = Attn()
print(m(torch.randn(2, 5, 12)).shape)
