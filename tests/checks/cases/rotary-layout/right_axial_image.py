import torch
import torch.nn.functional as F
from torch import nn

# 2-d rotary: half of the pairs turn with the row, half with the column
torch.manual_seed(3)
rows, cols, h, d = 3, 4, 2, 8
x = torch.randn(2, rows * cols, h * d)
freq = 100 ** (-torch.arange(0, d, 4) / d)
y, xx = torch.meshgrid(torch.arange(rows), torch.arange(cols), indexing="ij")
ang = torch.cat([y.flatten()[:, None] * freq, xx.flatten()[:, None] * freq], dim=-1)
cis = torch.polar(torch.ones_like(ang), ang)


def rotate(t):
    return torch.view_as_real(torch.view_as_complex(t.reshape(*t.shape[:-1], -1, 2)) * cis).flatten(3)


q, k, v = nn.Linear(h * d, 3 * h * d)(x).reshape(2, -1, 3, h, d).permute(2, 0, 3, 1, 4)
attn = (rotate(q) @ rotate(k).transpose(-2, -1) * d**-0.5).softmax(-1)
print((attn @ v).shape)
