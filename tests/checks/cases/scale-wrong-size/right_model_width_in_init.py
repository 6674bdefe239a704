import torch
from torch import nn, einsum


class Attention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=6):
        super().__init__()
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (t.reshape(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        dots = einsum("bhid,bhjd->bhij", q, k) * self.scale
        out = einsum("bhij,bhjd->bhid", dots.softmax(dim=-1), v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(131)
print(Attention(10)(torch.randn(2, 5, 10)).norm().item())
