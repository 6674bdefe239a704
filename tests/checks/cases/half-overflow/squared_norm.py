import torch
from torch import nn


class CosineAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.log_scale = nn.Parameter(torch.full((h, 1, 1), 2.3))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4).unbind(0)
        q = q / torch.sqrt((q * q).sum(-1, keepdim=True) + 1e-6)  # expect: ATT103
        k = k / torch.sqrt((k.float() ** 2).sum(-1, keepdim=True) + 1e-6).to(k.dtype)
        w = torch.softmax(q @ k.transpose(-2, -1) * self.log_scale.exp(), dim=-1)
        return (w @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(0)
attn = CosineAttention(12, 3).to(torch.float16)
print(attn(600 * torch.randn(2, 5, 12, dtype=torch.float16)).shape)
