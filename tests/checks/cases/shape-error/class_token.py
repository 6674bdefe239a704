import torch
from torch import nn


class ViT(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.proj = nn.Linear(48, d)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.layer = nn.TransformerEncoderLayer(d, 3, 24, batch_first=True)

    def forward(self, patches):
        x = self.proj(patches)
        x = torch.cat([self.cls, x], dim=1)  # expect: ATT121
        return self.layer(x)[:, 0]


torch.manual_seed(0)
print(ViT(12, 4)(torch.randn(2, 4, 48)).shape)
