import math
import torch
import torch.nn as nn


class MHA(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.in_proj, self.out_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = self.in_proj(x).view(B, L, 3, self.heads, D // self.heads).unbind(2)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        a = torch.softmax(q @ k.mT / math.sqrt(q.shape[1]), -1)  # expect: ATT012
        return self.out_proj((a @ v).transpose(1, 2).reshape(B, L, D))


torch.manual_seed(137)
print(MHA(12, 3)(torch.randn(2, 5, 12)).mean().item())
