"""q and k carry features and positions side by side: d_k is the sum of both widths."""
import torch
import torch.nn as nn

torch.manual_seed(148)
B, L, D, H, nope, rope = 2, 5, 12, 3, 4, 2
x = torch.randn(B, L, D)
q = nn.Linear(D, H * (nope + rope))(x).view(B, L, H, nope + rope).transpose(1, 2)
latent = nn.Linear(D, 6)(x)
k_nope, v = nn.Linear(6, H * 2 * nope)(latent).view(B, L, H, 2 * nope).transpose(1, 2).chunk(2, -1)
k_rope = nn.Linear(D, rope)(x).view(B, 1, L, rope).expand(B, H, L, rope)
k = torch.cat([k_nope, k_rope], dim=-1)
w = torch.softmax(q @ k.mT * (nope + rope) ** -0.5, dim=-1)
print((w @ v).transpose(1, 2).reshape(B, L, H * nope).shape)
