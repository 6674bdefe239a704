import torch
from torch import nn


def rotary(x, turn):
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2)


torch.manual_seed(45)
B, L, H, d = 2, 5, 3, 8
q, k, v = (nn.Linear(H * d, H * d)(torch.randn(B, L, H * d)).view(B, L, H, d).transpose(1, 2) for _ in range(3))
rate = 10000 ** (-torch.arange(0, d, 2) / d)
turn = torch.polar(torch.ones(L, d // 2), torch.outer(torch.arange(L), rate))
q, k = rotary(q, turn), rotary(k, turn)
scores = q @ k.mT / d**0.5
print(((scores / d**0.5).softmax(-1) @ v).shape)  # expect: ATT014
