import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
B, L, D = 2, 5, 12
x, y = torch.randn(B, L, D), torch.randn(B, L, D)
Wq, Wk, Wv = (torch.randn(D, D, requires_grad=True) for _ in range(3))

q, k, v = x @ Wq, x @ Wk, x @ Wv
causal = torch.tril(torch.ones(L, L, dtype=torch.bool))
s = (q @ k.transpose(-2, -1) / math.sqrt(D)).masked_fill(~causal, float("-inf"))
w = F.softmax(s, dim=-1)
entropy = -(w * torch.log(w.clamp_min(1e-9))).sum(-1).mean()
loss = F.mse_loss(w @ v, y) - 0.01 * entropy
loss.backward()
print(loss.item(), Wq.grad.norm())
