import torch
import torch.nn.functional as F

torch.manual_seed(100)
B, L, H, d_k = 2, 5, 3, 4
D = H * d_k
x = torch.randn(B, L, D)
Wq, Wk, Wv, Wo = (torch.randn(D, D) / D ** 0.5 for _ in range(4))
q = (x @ Wq).view(B, L, H, d_k).transpose(1, 2)
k = (x @ Wk).view(B, L, H, d_k).transpose(1, 2)
v = (x @ Wv).view(B, L, H, d_k).transpose(1, 2)
scores = q @ k.transpose(-2, -1)  # expect: ATT011
weights = F.softmax(scores, dim=-1)
out = (weights @ v).transpose(1, 2).reshape(B, L, D) @ Wo
print(out.shape)
