import torch
import torch.nn.functional as F
from torch import nn


class LearnedPositional(nn.Embedding):
    """OPT and BART shift the ids by two."""

    def __init__(self, n, d):
        self.offset = 2
        super().__init__(n + self.offset, d)

    def forward(self, attention_mask):
        positions = (torch.cumsum(attention_mask, 1) * attention_mask).long() - 1
        return super().forward(positions + self.offset)


torch.manual_seed(2)
mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
x = torch.randn(2, 5, 12) + LearnedPositional(32, 12)(mask)
q, k, v = (nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
print(F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :].bool()).shape)
