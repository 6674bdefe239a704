"""The work that is measured: attention as a person writes it, tiny and in the shape of GPT-2 small."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """As a person writes it; with one head there is nothing to split."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k, self.W_v = (nn.Linear(width, width, bias=False) for _ in range(3))

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x if self.heads == 1 else x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Q, K, V = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = torch.matmul(Q, K.transpose(-2, -1))
        scores = scores / math.sqrt(K.size(-1))
        weights = F.softmax(scores, dim=-1)
        output = torch.matmul(weights, V)
        return output if self.heads == 1 else output.transpose(1, 2).reshape(x.shape)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before(x))
        return x + self.down(F.gelu(self.up(self.after(x))))


def tiny() -> tuple[nn.Module, torch.Tensor, int]:
    return Attention(8, 1), torch.randn(2, 4, 8), 1000


def stack() -> tuple[nn.Module, torch.Tensor, int]:
    """A hand-written stack in the shape of GPT-2 small."""
    return nn.Sequential(*(Block(768, 12) for _ in range(12))), torch.randn(1, 128, 768), 2
