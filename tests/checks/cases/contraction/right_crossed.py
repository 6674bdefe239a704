import torch
from torch import nn

# as many keys as features in a head: the tokens of k are projected to four (as in Linformer)
torch.manual_seed(42)
B, L, d = 2, 4, 4
x = torch.randn(B, L, d)
q, k, v = nn.Linear(d, 3 * d)(x).chunk(3, -1)
k_fewer, v_fewer = nn.Linear(L, 4, bias=False), nn.Linear(L, 4, bias=False)
k, v = k_fewer(k.mT).mT, v_fewer(v.mT).mT
w = (q @ k.mT / d**0.5).softmax(-1)
print((w @ v).shape)
