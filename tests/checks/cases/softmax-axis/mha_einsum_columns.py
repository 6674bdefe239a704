import torch
from torch import nn, einsum


class Attention(nn.Module):
    def __init__(self, dim, heads=3, dim_head=4):
        super().__init__()
        inner = heads * dim_head
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.to_qkv = nn.Linear(dim, inner * 3, bias=False)
        self.to_out = nn.Linear(inner, dim)
        self.attend = nn.Softmax(dim=-2)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (t.reshape(b, n, self.heads, -1).permute(0, 2, 1, 3) for t in self.to_qkv(x).chunk(3, dim=-1))
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        attn = self.attend(sim)  # expect: ATT001
        out = einsum("b h i j, b h j d -> b h i d", attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))


torch.manual_seed(2)
block = Attention(10)
print(block(torch.randn(2, 5, 10)).sum().item())
