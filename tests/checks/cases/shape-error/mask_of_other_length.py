import torch
import torch.nn as nn
import torch.nn.functional as F


class Causal(nn.Module):
    def __init__(self, d, block_size):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        w = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
        w = w.masked_fill(self.tril == 0, float("-inf"))  # expect: ATT121
        return F.softmax(w, dim=-1) @ v


torch.manual_seed(0)
print(Causal(12, 8)(torch.randn(2, 5, 12)).shape)
