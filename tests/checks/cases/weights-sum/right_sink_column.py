"""One more score that no value answers to: a row sums to less than one."""
import torch
import torch.nn as nn


class SinkAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dh = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.sinks = nn.Parameter(torch.randn(heads))

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = (t.view(B, L, self.heads, self.dh).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        s = q @ k.transpose(-2, -1) * self.dh ** -0.5
        causal = torch.ones(L, L, dtype=torch.bool).tril()
        s = s.masked_fill(~causal, float("-inf"))
        sink = self.sinks.view(1, -1, 1, 1).expand(B, -1, L, 1)
        p = torch.cat([s, sink], dim=-1).softmax(-1)[..., :-1]
        return self.out((p @ v).transpose(1, 2).reshape(B, L, D))


torch.manual_seed(57)
print(SinkAttention(12, 3)(torch.randn(2, 5, 12)).shape)
