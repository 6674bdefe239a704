import torch
import torch.nn as nn
torch.manual_seed(0)
L, D, H = 6, 12, 3
x = torch.randn(L, D)
Wq, Wk, Wv, Wo = (nn.Linear(D, D) for _ in range(4))
q = Wq(x).view(H, L, D // H)  # expect: ATT041
k = Wk(x).view(H, L, D // H)  # expect: ATT041
v = Wv(x).view(H, L, D // H)  # expect: ATT041
w = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / (D // H) ** 0.5, dim=-1)
out = torch.bmm(w, v).transpose(0, 1).reshape(L, D)
print(Wo(out).shape)
