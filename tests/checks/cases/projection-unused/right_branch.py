import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, heads, project_out=False):
        super().__init__()
        self.heads = heads
        self.project_out = project_out
        self.to_qkv = nn.Linear(dim, dim * 3)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.to_qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        w = (q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5).softmax(-1)
        out = (w @ v).transpose(1, 2).reshape(b, n, d)
        if self.project_out:
            out = self.to_out(out)
        return out


torch.manual_seed(0)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
