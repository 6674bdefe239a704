import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x, keep):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mask = torch.ones(n, n).tril().bool() & keep[:, None, None, :]
        mask = mask | torch.eye(n).bool()
        s = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        s = s.masked_fill(~mask, float("-inf"))
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(0)
ids = torch.tensor([[0, 0, 5, 3, 8], [4, 9, 2, 6, 7]])
x = nn.Embedding(10, 12)(ids)
layer1, layer2 = SelfAttention(12, 3), SelfAttention(12, 3)
keep = ids != 0
print(layer2(layer1(x, keep), keep)[:, -1])
