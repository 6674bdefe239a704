import torch
from torch import nn


class PrunableAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x, head_mask):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        probs = (q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5).softmax(-1)
        probs = probs * head_mask[None, :, None, None]
        return self.out((probs @ v).transpose(1, 2).reshape(b, n, d))


torch.manual_seed(5)
print(PrunableAttention(12, 3)(torch.randn(2, 5, 12), torch.tensor([1.0, 0.0, 1.0])).shape)
