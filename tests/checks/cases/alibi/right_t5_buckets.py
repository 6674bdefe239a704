import math

import torch
import torch.nn.functional as F
from torch import nn


def bucket(rel, num=8, far=16):
    num //= 2
    out = (rel > 0).long() * num
    rel = rel.abs()
    exact = num // 2
    large = exact + (torch.log(rel.float() / exact + 1e-9) / math.log(far / exact) * (num - exact)).long()
    return out + torch.where(rel < exact, rel, large.clamp(max=num - 1))


torch.manual_seed(2)
B, L, H, d = 2, 6, 3, 4
table = nn.Embedding(8, H)
x = torch.randn(B, L, H * d)
q, k, v = (nn.Linear(H * d, H * d, bias=False)(x).view(B, L, H, d).transpose(1, 2) for _ in range(3))
rel = torch.arange(L)[None, :] - torch.arange(L)[:, None]
scores = q @ k.transpose(3, 2) / d**0.5 + table(bucket(rel)).permute(2, 0, 1).unsqueeze(0)
print((F.softmax(scores, dim=-1) @ v).shape)
