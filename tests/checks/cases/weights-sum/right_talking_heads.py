import torch
import torch.nn as nn


class TalkingHeads(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dh = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.pre = nn.Linear(heads, heads, bias=False)
        self.post = nn.Linear(heads, heads, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, self.dh).permute(2, 0, 3, 1, 4)
        attn = (q * self.dh ** -0.5) @ k.transpose(-2, -1)
        attn = self.pre(attn.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        attn = attn.softmax(dim=-1)
        attn = self.post(attn.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.out((attn @ v).transpose(1, 2).reshape(B, N, C))


torch.manual_seed(61)
print(TalkingHeads(12, 3)(torch.randn(2, 5, 12)).shape)
