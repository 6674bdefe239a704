import torch
import torch.nn as nn
class CrossBlock(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.wk, self.wv = nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, query, memory):
        key = self.wk(memory)
        value = self.wv(memory)
        out, _ = self.attn(query, value, key)  # expect: ATT033
        return out
torch.manual_seed(0)
print(CrossBlock(8, 2)(torch.randn(2, 3, 8), torch.randn(2, 5, 8)).shape)
