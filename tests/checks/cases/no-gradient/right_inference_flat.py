import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 4, 8)
wq, wk, wv = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
with torch.no_grad():
    q, k, v = wq(x), wk(x), wv(x)
    w = torch.softmax(q @ k.transpose(-2, -1) / 8**0.5, dim=-1)
    out = w @ v
print(out)
q, k, v = wq(x), wk(x), wv(x)
w = torch.softmax(q @ k.transpose(-2, -1) / 8**0.5, dim=-1)
print(w[0].detach().numpy().round(3))
print((w @ v).detach().mean())
