import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scaling = (dim // heads) ** -0.5
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        B, T, C = x.shape
        q = self.q_proj(x) * self.scaling
        k, v = self.k_proj(x), self.v_proj(x)
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2).reshape(B * self.heads, T, -1) for t in (q, k, v))
        w = torch.bmm(q, k.transpose(1, 2)).softmax(dim=-1)
        out = torch.bmm(w, v).view(B, self.heads, T, -1).transpose(1, 2).reshape(B, T, C)
        return self.out_proj(out)


torch.manual_seed(110)
print(Attention(12, 3)(torch.randn(2, 5, 12)).shape)
