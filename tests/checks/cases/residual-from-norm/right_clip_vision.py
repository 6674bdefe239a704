# CLIP's image tower: a norm on the embeddings, then pre-norm blocks.
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def attention(self, x):
        return self.attn(x, x, x, need_weights=False)[0]

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.conv = nn.Conv2d(3, d, 4, 4, bias=False)
        self.cls = nn.Parameter(torch.randn(d))
        self.pos = nn.Parameter(torch.randn(5, d))
        self.ln_pre, self.ln_post = nn.LayerNorm(d), nn.LayerNorm(d)
        self.blocks = nn.Sequential(Block(d, h), Block(d, h))

    def forward(self, x):
        x = self.conv(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.size(0), 1, -1), x], dim=1) + self.pos
        x = self.ln_pre(x).transpose(0, 1)
        x = self.blocks(x).transpose(0, 1)
        return self.ln_post(x[:, 0])


torch.manual_seed(0)
print(VisionTransformer(12, 3)(torch.randn(2, 3, 8, 8)).shape)
