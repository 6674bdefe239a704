import torch
import torch.nn as nn


class MultiQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = d_model // n_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, self.head_dim)  # one key head
        self.wv = nn.Linear(d_model, self.head_dim)  # one value head
        self.wo = nn.Linear(d_model, d_model)

    def forward(self, x):
        B, L, D = x.shape
        q = self.wq(x).view(B, L, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).unsqueeze(1)
        v = self.wv(x).unsqueeze(1)
        w = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim ** 0.5, dim=-1)
        return self.wo((w @ v).transpose(1, 2).reshape(B, L, D))


torch.manual_seed(0)
print(MultiQueryAttention(12, 3)(torch.randn(2, 5, 12)).shape)
