import torch
import torch.nn.functional as F
from torch import nn


class GlobalQueryAttention(nn.Module):
    """The query is made from the mean of the sentence."""

    def __init__(self, d):
        super().__init__()
        self.to_q, self.to_k, self.to_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        summary = x.mean(dim=1, keepdim=True)
        q = self.to_q(x + summary)
        k, v = self.to_k(x), self.to_v(x)
        w = F.softmax(torch.einsum("bqd,bkd->bqk", q, k) / x.size(-1) ** 0.5, dim=-1)
        return torch.einsum("bqk,bkd->bqd", w, v)


torch.manual_seed(3)
print(GlobalQueryAttention(10)(torch.randn(4, 5, 10)).shape)
