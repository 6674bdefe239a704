import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as sdpa

torch.manual_seed(21)
batch, src, dim, heads = 2, 6, 20, 5


def heads_first(t):
    b, n, _ = t.shape
    return t.view(b, n, heads, -1).transpose(1, 2)


wq, wk, wv = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, 30)
x = torch.randn(batch, src, dim)
lengths = torch.tensor([6, 4])

# True = may be looked at
keep = torch.arange(src)[None, :] < lengths[:, None]
y = sdpa(
    heads_first(wq(x)),
    heads_first(wk(x)),
    heads_first(wv(x)),
    attn_mask=keep[:, None, None, :],
)
print(y.shape)

# an additive float mask that is causal, and a scale of our own
bias = torch.full((src, src), float("-inf")).triu(1)
z = sdpa(heads_first(wq(x)), heads_first(wk(x)), heads_first(wv(x)), attn_mask=bias, scale=0.5)
print(z.shape, z.sum().item())
