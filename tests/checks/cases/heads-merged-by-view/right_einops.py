import torch
from einops import rearrange
from torch import nn

torch.manual_seed(0)
to_qkv, to_out = nn.Linear(12, 36), nn.Linear(12, 12)
x = torch.randn(2, 5, 12)
q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=3) for t in to_qkv(x).chunk(3, dim=-1))
w = (torch.einsum("b h i d, b h j d -> b h i j", q, k) / 4 ** 0.5).softmax(-1)
y = torch.einsum("b h i j, b h j d -> b h i d", w, v)
print(to_out(rearrange(y, "b h n d -> b n (h d)")).shape)
