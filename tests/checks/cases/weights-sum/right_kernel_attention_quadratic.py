"""The same with the L x L matrix written out: phi(q) phi(k)^T, each row divided by its sum."""
import torch
import torch.nn as nn


class KernelAttention(nn.Module):
    def __init__(self, d, features):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.register_buffer("omega", torch.randn(d, features))

    def phi(self, t):
        t = t / t.shape[-1] ** 0.25
        return torch.exp(t @ self.omega - t.pow(2).sum(-1, keepdim=True) / 2) + 1e-6

    def forward(self, x):
        q, k, v = self.phi(self.q(x)), self.phi(self.k(x)), self.v(x)
        a = q @ k.transpose(1, 2)
        a = a / a.sum(dim=-1, keepdim=True)
        return a @ v


torch.manual_seed(64)
print(KernelAttention(6, 9)(torch.randn(2, 5, 6)).shape)
