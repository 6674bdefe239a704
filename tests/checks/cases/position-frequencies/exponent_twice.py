import math
import torch
from torch import nn

torch.manual_seed(6)


def sinusoid(seq_len, dim):
    pos = torch.arange(seq_len, dtype=torch.float32)[:, None]
    two_i = torch.arange(0, dim, 2, dtype=torch.float32)
    rate = 10000 ** (-2 * two_i / dim)  # expect: ATT092
    return torch.stack((torch.sin(pos * rate), torch.cos(pos * rate)), dim=-1).flatten(1)


x = torch.randn(2, 5, 12) + sinusoid(5, 12)
mha = nn.MultiheadAttention(12, 3, batch_first=True)
y, w = mha(x, x, x)
print(y.shape, w.shape)
