"""Slots compete for the inputs: softmax over the slots, then each slot takes a weighted mean."""
import torch
import torch.nn as nn


class SlotAttention(nn.Module):
    def __init__(self, dim, slots):
        super().__init__()
        self.scale = dim ** -0.5
        self.mu = nn.Parameter(torch.randn(1, slots, dim))
        self.to_q, self.to_k, self.to_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.gru = nn.GRUCell(dim, dim)

    def forward(self, inputs, iters=2):
        b, n, d = inputs.shape
        slots = self.mu.expand(b, -1, -1)
        k, v = self.to_k(inputs), self.to_v(inputs)
        for _ in range(iters):
            q = self.to_q(slots)
            dots = torch.einsum("bid,bjd->bij", q, k) * self.scale
            attn = dots.softmax(dim=1) + 1e-8
            attn = attn / attn.sum(dim=-1, keepdim=True)
            updates = torch.einsum("bjd,bij->bid", v, attn)
            slots = self.gru(updates.reshape(-1, d), slots.reshape(-1, d)).reshape(b, -1, d)
        return slots


torch.manual_seed(23)
print(SlotAttention(8, 3)(torch.randn(2, 6, 8)).shape)
