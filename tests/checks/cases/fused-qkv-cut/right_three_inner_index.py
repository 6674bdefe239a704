import torch
import torch.nn as nn


class BloomAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.d = heads, hidden // heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.dense = nn.Linear(hidden, hidden)

    def forward(self, x):
        b, n, c = x.shape
        fused = self.qkv(x).view(b, n, self.heads, 3, self.d)
        q, k, v = fused[..., 0, :], fused[..., 1, :], fused[..., 2, :]
        s = torch.einsum("bihd,bjhd->bhij", q, k) / self.d ** 0.5
        y = torch.einsum("bhij,bjhd->bihd", s.softmax(-1), v)
        return self.dense(y.reshape(b, n, c))


torch.manual_seed(0)
print(BloomAttention(12, 3)(torch.randn(2, 5, 12)).shape)
