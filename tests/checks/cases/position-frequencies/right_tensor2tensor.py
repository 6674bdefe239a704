import math

import torch
import torch.nn.functional as F
from torch import nn


def get_timing_signal(length, channels, min_timescale=1.0, max_timescale=1.0e4):
    position = torch.arange(length).float()
    num_timescales = channels // 2
    log_timescale_increment = math.log(max_timescale / min_timescale) / (num_timescales - 1)
    inv_timescales = min_timescale * torch.exp(torch.arange(num_timescales).float() * -log_timescale_increment)
    scaled_time = position[:, None] * inv_timescales[None, :]
    signal = torch.cat([torch.sin(scaled_time), torch.cos(scaled_time)], dim=1)
    return F.pad(signal, (0, channels % 2)).view(1, length, channels)


torch.manual_seed(0)
x = torch.randn(2, 5, 12) + get_timing_signal(5, 12)
q, k, v = (nn.Linear(12, 12)(x).unflatten(-1, (3, 4)).transpose(1, 2) for _ in range(3))
w = F.softmax(q @ k.transpose(-1, -2) * 4**-0.5, dim=-1)
print((w @ v).shape)
