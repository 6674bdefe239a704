# it asks for a mistake that is no matter of shapes, and handles it
import torch
from torch import nn

torch.manual_seed(0)
layers = {"attn": nn.MultiheadAttention(12, 3, batch_first=True)}
x = torch.randn(2, 5, 12)
try:
    layers["cross"](x)
except KeyError as error:
    print("没有这一层:", error)
print(layers["attn"](x, x, x)[0].shape)
