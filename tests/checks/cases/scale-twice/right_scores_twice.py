import torch
import torch.nn as nn


def scores_of(q, k):
    return torch.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.scale = dim ** -0.5

    def forward(self, x, context):
        s = scores_of(self.to_q(x), self.to_k(context))
        w = s.softmax(dim=-1)
        return torch.einsum("bqk,bkd->bqd", w, self.to_v(context))


torch.manual_seed(163)
print(Attention(10)(torch.randn(2, 4, 10), torch.randn(2, 6, 10)).shape)
