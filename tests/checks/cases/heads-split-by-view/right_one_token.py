import torch
import torch.nn as nn
import torch.nn.functional as F


class DecodeStep(nn.Module):
    """One new token: with a length of one, a view is all that it takes."""

    def __init__(self, d, h):
        super().__init__()
        self.h, self.dk = h, d // h
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, token, memory):
        b, m, d = memory.shape
        q = self.q(token).view(b, self.h, 1, self.dk)
        k, v = self.kv(memory).view(b, m, 2, self.h, self.dk).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.o(y.reshape(b, 1, d))


torch.manual_seed(0)
print(DecodeStep(12, 3)(torch.randn(2, 1, 12), torch.randn(2, 6, 12)).shape)
