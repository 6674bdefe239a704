import torch
import torch.nn as nn


class SelfAttention(nn.Module):
    """自注意力层"""

    def __init__(self, dim):
        super().__init__()
        self.W_q = nn.Linear(dim, dim, bias=False)
        self.W_k = nn.Linear(dim, dim, bias=False)
        self.W_v = nn.Linear(dim, dim, bias=False)
        self.scale = dim ** 0.5

    def forward(self, x, mask=None):
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = torch.matmul(Q, K.transpose(1, 2)) / self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(scores, V)  # expect: ATT004


torch.manual_seed(53)
mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]).unsqueeze(1)
print(SelfAttention(8)(torch.randn(2, 4, 8), mask))
