"""Twelve equal layers: one is told for all."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (t.view(B, L, self.heads, D // self.heads).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (D // self.heads) ** 0.5
        future = torch.ones(L, L, dtype=torch.bool).triu(1)
        weights = F.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
        return x + self.out((weights @ v).transpose(1, 2).reshape(B, L, D))


class Stack(nn.Module):
    def __init__(self, depth, d_model, heads):
        super().__init__()
        self.layers = nn.ModuleList(Layer(d_model, heads) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


torch.manual_seed(0)
stack = Stack(depth=12, d_model=32, heads=4)
print(stack(torch.randn(1, 20, 32)).shape)
