import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x, mask):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5
        s = s + (1.0 - mask[:, None].to(s.dtype)) * -1e9  # expect: ATT061
        return self.out((s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(2)
keep = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
pair = keep[:, :, None] * keep[:, None, :]
layer = Attention(12, 3).half()
print(layer(torch.randn(2, 4, 12).half(), pair).float().mean())
