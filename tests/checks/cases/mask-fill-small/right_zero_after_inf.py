import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.h, self.d_k = heads, size // heads
        self.linear_q, self.linear_k, self.linear_v = (nn.Linear(size, size) for _ in range(3))

    def forward(self, x, mask):
        b, t, _ = x.shape
        q, k, v = (
            f(x).view(b, t, self.h, self.d_k).transpose(1, 2) for f in (self.linear_q, self.linear_k, self.linear_v)
        )
        scores = torch.matmul(q, k.transpose(-2, -1)) / self.d_k**0.5
        mask = mask[:, None, :, :].eq(0)
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        attn = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)
        return torch.matmul(attn, v).transpose(1, 2).reshape(b, t, -1)


torch.manual_seed(9)
lengths = torch.tensor([5, 3])
valid = torch.arange(5) < lengths[:, None]
print(Attention(12, 3)(torch.randn(2, 5, 12), valid[:, None, :] & valid[:, :, None]).shape)
