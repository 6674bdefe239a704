import torch
import torch.nn as nn


class AttentionPooling(nn.Module):
    """A few learned queries read a sequence of any length."""

    def __init__(self, n_queries, dim, d_k):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(n_queries, d_k))
        self.keys = nn.Linear(dim, d_k)
        self.values = nn.Linear(dim, 10)

    def forward(self, tokens, keep):
        k = self.keys(tokens)
        s = torch.matmul(self.queries, k.transpose(1, 2)) / k.shape[-1] ** 0.5   # [B, M, L]
        s = s.masked_fill(~keep[:, None], float("-inf"))
        return s.softmax(dim=-1) @ self.values(tokens)


torch.manual_seed(46)
pool = AttentionPooling(n_queries=3, dim=9, d_k=4)
keep = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
pooled = pool(torch.randn(2, 6, 9), keep)
print(pooled.shape, pooled.sum().item())
