"""One image without a batch: all its pixels."""
import torch
import torch.nn as nn

torch.manual_seed(239)
height, width, channels = 3, 4, 6
image = torch.randn(height, width, channels)
x = image.reshape(-1, channels)
q, k, v = nn.Linear(channels, 3 * channels)(x).chunk(3, -1)
w = torch.softmax(q @ k.T / channels ** 0.5, dim=-1)
print((w @ v).view(height, width, channels).shape)
