import math
import torch
from torch import nn


class AddPosition(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        p, i = torch.arange(max_len)[:, None], torch.arange(0, d_model, 2)
        w = torch.exp(-math.log(10000.0) * i / d_model)
        self.register_buffer("table", torch.stack([torch.sin(p * w), torch.cos(p * w)], -1).view(1, max_len, d_model))

    def forward(self, x):
        return x + self.table[:, : x.size(2)]  # expect: ATT093


torch.manual_seed(5)
x = torch.randn(2, 8, 8)
x = AddPosition(8, 30)(x)
q, k, v = nn.Linear(8, 8)(x), nn.Linear(8, 8)(x), nn.Linear(8, 8)(x)
print((torch.softmax(torch.bmm(q, k.mT) / math.sqrt(8), -1) @ v).shape)
