"""Divided attention of a video: first over time, then over space; batch and the other axis are folded."""
import torch
import torch.nn as nn

torch.manual_seed(242)
B, T, N, D = 2, 3, 4, 8


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(q @ k.transpose(-2, -1) * D ** -0.5, dim=-1) @ v


time, space = Attn(), Attn()
x = torch.randn(B, T, N, D)
y = time(x.transpose(1, 2).reshape(B * N, T, D)).view(B, N, T, D).transpose(1, 2)
z = space(y.reshape(B * T, N, D)).view(B, T, N, D)
print(z.shape)
