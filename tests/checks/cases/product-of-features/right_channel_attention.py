"""Channel attention of DANet: feature maps, no projection, a learned share of the result."""
import torch
import torch.nn as nn


class ChannelAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        B, C, H, W = x.shape
        q = x.view(B, C, -1)
        k = x.view(B, C, -1).permute(0, 2, 1)
        energy = torch.bmm(q, k)
        energy = energy.max(-1, keepdim=True)[0].expand_as(energy) - energy
        attention = energy.softmax(dim=-1)
        out = torch.bmm(attention, x.view(B, C, -1)).view(B, C, H, W)
        return self.gamma * out + x


torch.manual_seed(205)
conv = nn.Conv2d(3, 6, 3, padding=1)
print(ChannelAttention()(conv(torch.randn(2, 3, 4, 5))).shape)
