import torch
from torch import nn


class DecoderSelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        w = (q @ k.mT / (d // self.heads) ** 0.5).softmax(-1)
        return (w @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(12)
print(DecoderSelfAttention(12, 3)(torch.randn(2, 5, 12)).shape)
