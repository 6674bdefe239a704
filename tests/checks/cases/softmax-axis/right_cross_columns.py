import torch
import torch.nn as nn
import torch.nn.functional as F


class CrossAttention(nn.Module):
    def __init__(self, dim, ctx_dim, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(ctx_dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, context):
        B, N, C = x.shape
        M = context.shape[1]
        d = C // self.heads
        q = self.q(x).reshape(B, N, self.heads, d).permute(0, 2, 1, 3)
        k, v = self.kv(context).reshape(B, M, 2, self.heads, d).permute(2, 0, 3, 1, 4)
        attn = (q * d ** -0.5) @ k.transpose(-2, -1)
        attn = F.softmax(attn, dim=-1)
        return self.out((attn @ v).transpose(1, 2).reshape(B, N, C))


torch.manual_seed(13)
layer = CrossAttention(12, 9, 3)
print(layer(torch.randn(2, 4, 12), torch.randn(2, 7, 9)).shape)
