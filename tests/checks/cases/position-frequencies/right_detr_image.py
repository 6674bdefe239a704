import math

import torch
from torch import nn

# sine encoding of a 2-d grid, as in DETR
torch.manual_seed(3)
B, Hh, Ww, C = 2, 3, 4, 16
mask = torch.zeros(B, Hh, Ww, dtype=torch.bool)
y_embed, x_embed = (~mask).cumsum(1).float(), (~mask).cumsum(2).float()
y_embed = y_embed / (y_embed[:, -1:, :] + 1e-6) * 2 * math.pi
x_embed = x_embed / (x_embed[:, :, -1:] + 1e-6) * 2 * math.pi
dim_t = torch.arange(C // 2).float()
dim_t = 10000 ** (2 * torch.div(dim_t, 2, rounding_mode="floor") / (C // 2))
pos_x, pos_y = x_embed[..., None] / dim_t, y_embed[..., None] / dim_t
pos_x = torch.stack((pos_x[..., 0::2].sin(), pos_x[..., 1::2].cos()), dim=4).flatten(3)
pos_y = torch.stack((pos_y[..., 0::2].sin(), pos_y[..., 1::2].cos()), dim=4).flatten(3)
pos = torch.cat((pos_y, pos_x), dim=3).flatten(1, 2)
src = torch.randn(B, Hh * Ww, C)
attn = nn.MultiheadAttention(C, 4, batch_first=True)
q = k = src + pos
print(attn(q, k, value=src)[0].shape)
