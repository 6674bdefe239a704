import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d, h, cross):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.cross_attn = nn.MultiheadAttention(d, h, batch_first=True) if cross else None

    def forward(self, x, memory):
        x = x + self.self_attn(x, x, x)[0]
        if self.cross_attn is not None:
            x = x + self.cross_attn(x, memory, memory)[0]
        return x


torch.manual_seed(0)
layers = nn.ModuleList(Layer(8, 2, cross=i % 2 == 1) for i in range(4))
x, memory = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
for layer in layers:
    x = layer(x, memory)
print(x.shape)
