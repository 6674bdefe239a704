import torch
from torch import nn

# A shared down-projection for keys and values (latent attention), then one up-projection each.
torch.manual_seed(2)
B, L, D, H, r = 2, 5, 12, 3, 4
d = D // H
wq, down, up_k, up_v, wo = nn.Linear(D, D), nn.Linear(D, r), nn.Linear(r, D), nn.Linear(r, D), nn.Linear(D, D)

x = torch.randn(B, L, D)
c = down(x)
q = wq(x).view(B, L, H, d).transpose(1, 2)
k = up_k(c).view(B, L, H, d).transpose(1, 2)
v = up_v(c).view(B, L, H, d).transpose(1, 2)
w = (q @ k.transpose(-2, -1) / d ** 0.5).softmax(-1)
y = wo((w @ v).transpose(1, 2).reshape(B, L, D))
print(y.shape)
