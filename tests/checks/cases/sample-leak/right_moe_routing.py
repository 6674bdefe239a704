import torch
import torch.nn.functional as F
from torch import nn


class MoE(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.gate, self.experts = nn.Linear(d, n), nn.ModuleList(nn.Linear(d, d) for _ in range(n))

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        w, i = self.gate(flat).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            row, col = torch.where(i == e)
            out.index_add_(0, row, w[row, col, None] * expert(flat[row]))
        return out.view_as(x)


torch.manual_seed(2)
x = torch.randn(2, 5, 12)
x = x + MoE(12, 4)(x)
q, k, v = (nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
print((y + MoE(12, 4)(y)).shape)
