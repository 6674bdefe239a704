import torch
import torch.nn as nn

torch.manual_seed(0)
act, drop = nn.GELU(), nn.Dropout(0.0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, d), act, drop, nn.Linear(d, d), act, drop)

    def forward(self, x):
        x = x + self.attn(x, x, x)[0]
        return x + self.mlp(x)


model = nn.Sequential(*(Block(8) for _ in range(2)))
print(model(torch.randn(2, 5, 8)).shape)
