import torch
import torch.nn.functional as F
from torch import nn

# complex rotary
torch.manual_seed(5)
n, h, d = 5, 3, 8
x = torch.randn(2, n, h * d)
qkv = nn.Linear(h * d, 3 * h * d)(x).view(2, n, 3, h, d).permute(2, 0, 3, 1, 4)
q, k, v = qkv[0], qkv[1], qkv[2]
freqs = torch.outer(torch.arange(n), 1.0 / 10000 ** (torch.arange(0, d, 2) / d))
cis = torch.polar(torch.ones_like(freqs), freqs)
q_ = torch.view_as_complex(q.reshape(2, h, n, d // 2, 2))
k_ = torch.view_as_complex(k.reshape(2, h, n, d // 2, 2))
q = torch.view_as_real(q_ * cis).flatten(3)
k = torch.view_as_real(k_ * cis.conj()).flatten(3)  # expect: ATT095
print(F.scaled_dot_product_attention(q, k, v, is_causal=True).sum())
