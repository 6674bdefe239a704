import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return x + self.out((q @ k.mT / x.size(-1) ** 0.5).softmax(-1) @ v)


torch.manual_seed(40)
layers = [Block(8)] * 3  # expect: ATT035
x = torch.randn(2, 5, 8)
for layer in layers:
    x = layer(x)
print(x.shape)
