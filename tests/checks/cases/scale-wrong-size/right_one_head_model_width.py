"""With one head the model's width is the head's."""
import math
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model
        self.qkv = nn.Linear(d_model, 3 * d_model)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(q @ k.mT / math.sqrt(self.d_model), dim=-1) @ v


torch.manual_seed(145)
print(Attention(8)(torch.randn(2, 4, 8)).shape)
