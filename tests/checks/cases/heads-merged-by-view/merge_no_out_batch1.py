import torch
import torch.nn.functional as F
torch.manual_seed(0)
L, D, H = 6, 8, 2
x = torch.randn(1, L, D)
Wq, Wk, Wv = torch.randn(D, D), torch.randn(D, D), torch.randn(D, D)
q = (x @ Wq).view(1, L, H, D // H).transpose(1, 2)
k = (x @ Wk).view(1, L, H, D // H).transpose(1, 2)
v = (x @ Wv).view(1, L, H, D // H).transpose(1, 2)
w = F.softmax(q @ k.mT / (D // H) ** 0.5, dim=-1)
out = (w @ v).reshape(1, L, D)  # expect: ATT042
print(out)
