import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, h, p=0.1):
        super().__init__()
        self.p = p
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, dropout=p, batch_first=True)
        self.fc1, self.fc2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        h = self.ln1(x)
        a, _ = self.attn(h, h, h, need_weights=False)
        x = x + F.dropout(a, self.p, self.training)
        h = self.fc2(F.gelu(self.fc1(self.ln2(x))))
        return x + F.dropout(h, self.p, training=self.training)


torch.manual_seed(0)
blocks = nn.Sequential(Block(12, 3), Block(12, 3))
blocks.eval()
with torch.no_grad():
    print(blocks(torch.randn(2, 5, 12)).norm())
