import torch
import torch.nn as nn

torch.manual_seed(11)
B, L, D = 2, 6, 10
memory = torch.randn(B, L, D)
state = torch.randn(B, D)
to_q, to_k, to_v = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)

q, k, v = to_q(state), to_k(memory), to_v(memory)
energy = torch.bmm(k, q.unsqueeze(2)) / D ** 0.5     # (B, L, 1)
alpha = torch.softmax(energy, dim=1)
summary = (alpha * v).sum(dim=1)
print(summary.shape, alpha.shape)
