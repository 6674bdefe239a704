import torch
from torch import nn
from einops import rearrange
from einops.layers.torch import Rearrange


class TalkingHeads(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.to_q = nn.Sequential(nn.Linear(dim, heads * dim_head, bias=False),
                                  Rearrange('b n (h d) -> b h n d', h=heads))
        self.to_kv = nn.Linear(dim, heads * dim_head * 2, bias=False)
        self.pre = nn.Parameter(torch.randn(heads, heads))
        self.post = nn.Parameter(torch.randn(heads, heads))
        self.heads = heads

    def forward(self, x, context):
        q = self.to_q(x)
        k, v = rearrange(self.to_kv(context), 'b n (two h d) -> two b h n d', two=2, h=self.heads).unbind(0)

        dots = torch.einsum('b h i d, b h j d -> b h i j', q, k) * self.scale
        # heads talk to each other, before and after the softmax
        dots = torch.einsum('b h i j, h g -> b g i j', dots, self.pre)
        attn = dots.softmax(dim=-1)
        attn = torch.einsum('b h i j, h g -> b g i j', attn, self.post)

        out = torch.einsum('b h i j, b h j d -> b h i d', attn, v)
        return rearrange(out, 'b h n d -> b n (h d)')


torch.manual_seed(37)
module = TalkingHeads(dim=11, heads=3, dim_head=4)
z = module(torch.randn(2, 5, 11), torch.randn(2, 7, 11))
print(z.shape, z.std().item())
