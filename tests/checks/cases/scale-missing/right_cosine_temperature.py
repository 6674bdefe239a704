import torch
import torch.nn as nn
import torch.nn.functional as F


class CosineAttention(nn.Module):
    """Swin v2: 余弦相似度乘以可学习的温度"""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.logit_scale = nn.Parameter(torch.log(10 * torch.ones(heads, 1, 1)))
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        attn = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        attn = (attn * self.logit_scale.clamp(max=4.6).exp()).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))


torch.manual_seed(118)
print(CosineAttention(12, 3)(torch.randn(2, 5, 12)).shape)
