import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.o_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def shape(self, t):
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory):
        q = self.q_proj(x)
        q = q * q.size(-1) ** -0.5  # expect: ATT012
        q, k, v = self.shape(q), self.shape(self.k_proj(memory)), self.shape(self.v_proj(memory))
        attn = (q @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.o_proj((attn @ v).transpose(1, 2).flatten(-2))


torch.manual_seed(132)
print(CrossAttention(12, 2)(torch.randn(2, 4, 12), torch.randn(2, 7, 12)).shape)
