import torch
from torch import nn


class Block(nn.Module):
    """PatchTST style: batch norm over the features"""

    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.norm = nn.BatchNorm1d(d)

    def forward(self, x):
        x = x + self.attn(x, x, x, need_weights=False)[0]
        return self.norm(x.transpose(1, 2)).transpose(1, 2)


torch.manual_seed(0)
block = Block(12, 3)
x = torch.randn(4, 5, 12)
print("训练:", block(x).std().item(), block(x).std().item())
block.eval()
print("评估:", block(x).std().item(), block(x).std().item())
