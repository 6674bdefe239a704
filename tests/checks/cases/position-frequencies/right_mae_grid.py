import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def sincos_1d(dim, pos):
    omega = 1.0 / 10000 ** (np.arange(dim // 2, dtype=np.float64) / (dim / 2.0))
    out = np.einsum("m,d->md", pos.reshape(-1), omega)
    return np.concatenate([np.sin(out), np.cos(out)], axis=1)


def sincos_2d(dim, size):
    grid = np.stack(np.meshgrid(np.arange(size), np.arange(size)), axis=0)
    return np.concatenate([sincos_1d(dim // 2, grid[0]), sincos_1d(dim // 2, grid[1])], axis=1)


torch.manual_seed(4)
pos_embed = torch.from_numpy(sincos_2d(16, 3)).float().unsqueeze(0)
patches = nn.Conv2d(3, 16, 4, 4)(torch.randn(2, 3, 12, 12)).flatten(2).transpose(1, 2)
x = patches + pos_embed
q, k, v = nn.Linear(16, 48)(x).reshape(2, 9, 3, 4, 4).permute(2, 0, 3, 1, 4)
print(F.scaled_dot_product_attention(q, k, v).shape)
