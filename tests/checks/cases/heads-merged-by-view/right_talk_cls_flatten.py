import torch
import torch.nn as nn
import torch.nn.functional as F
class Clf(nn.Module):
    """Heads are merged, then all positions are read by one layer."""
    def __init__(self, d, h, n):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.head = nn.Linear(n * d, 4)
    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n * d)
        return self.head(y)
torch.manual_seed(0)
print(Clf(12, 3, 5)(torch.randn(2, 5, 12)).shape)
