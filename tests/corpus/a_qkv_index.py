import torch
import torch.nn as nn


class Attn(nn.Module):
    # timm 风格：一个线性层同时算出 q、k、v
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]   # 每个都是 [B, H, N, d]
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)


torch.manual_seed(6)
L = D = 8                      # 词元数等于特征数，故意的
blocks = nn.Sequential(*[Attn(D, 2) for _ in range(3)])
x = torch.randn(3, L, D)
print(blocks(x).shape)
print(blocks(x)[:, 0].abs().max().item())
