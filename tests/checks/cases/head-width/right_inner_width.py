import torch
import torch.nn as nn


class Attention(nn.Module):
    """Heads as wide as one likes: the inner width need not be the model's (T5, Gemma)."""

    def __init__(self, dim, heads=3, dim_head=5):
        super().__init__()
        inner = heads * dim_head
        self.heads, self.scale = heads, dim_head ** -0.5
        self.to_qkv = nn.Linear(dim, inner * 3, bias=False)
        self.to_out = nn.Linear(inner, dim)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        w = (q @ k.transpose(-1, -2) * self.scale).softmax(dim=-1)
        return self.to_out((w @ v).transpose(1, 2).flatten(2))


torch.manual_seed(0)
print(Attention(10)(torch.randn(2, 5, 10)).shape)
