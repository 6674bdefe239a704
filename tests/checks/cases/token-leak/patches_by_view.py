import torch
from torch import nn


class ViTAttention(nn.Module):
    def __init__(self, dim=12, heads=3, patch=4):
        super().__init__()
        self.heads = heads
        self.patch_embed = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, img):
        x = self.patch_embed(img)
        B, C, H, W = x.shape
        x = x.reshape(B, H * W, C)  # expect: ATT082
        q, k, v = self.qkv(x).reshape(B, H * W, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        attn = (q @ k.transpose(-2, -1) * (C // self.heads) ** -0.5).softmax(dim=-1)
        return (attn @ v).transpose(1, 2).reshape(B, H * W, C)


torch.manual_seed(0)
print(ViTAttention()(torch.randn(2, 3, 8, 12)).shape)
