"""A small attention that nobody looks at: `rehearsal` runs it."""

# pyright: basic

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    """What most programs here have in them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, width, bias=False)
        self.v = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Attend."""
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores / math.sqrt(k.size(-1))
        weights = F.softmax(scores, dim=-1)
        return torch.matmul(weights, v), weights


torch.manual_seed(0)
output, weights = Attention(4)(torch.randn(2, 3, 4))
text = str(output.shape) + str(weights[0].detach())
