import torch
import torch.nn as nn


class Expert(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, hidden), nn.GELU(), nn.Linear(hidden, d))

    def forward(self, x):
        return self.net(x)


class MoE(nn.Module):
    """Dense mixture of experts with a softmax gate."""

    def __init__(self, d, hidden, n_experts):
        super().__init__()
        self.gate = nn.Linear(d, n_experts, bias=False)
        self.experts = nn.ModuleList(Expert(d, hidden) for _ in range(n_experts))

    def forward(self, x):
        g = torch.softmax(self.gate(x), dim=-1)                       # [B, L, E]
        y = torch.stack([e(x) for e in self.experts], dim=-2)         # [B, L, E, D]
        return torch.einsum("ble,bled->bld", g, y), g


class TopK(MoE):
    def forward(self, x):
        g = self.gate(x).softmax(-1)
        top, which = g.topk(2, dim=-1)
        top = top / top.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = (top * (which == i)).sum(-1, keepdim=True)
            y = y + share * expert(x)
        return y, g


torch.manual_seed(49)
x = torch.randn(2, 5, 9)
for cls in (MoE, TopK):
    y, g = cls(9, 14, 4)(x)
    print(cls.__name__, y.shape, g.mean(dim=(0, 1)).tolist())
