import torch
from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = self.qkv(x).reshape(B, L, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # expect: ATT051
        return self.out(y.transpose(1, 2).reshape(B, L, D))


torch.manual_seed(1)
pad_id = 1
tokens = torch.tensor([[3, 4, 9, 2, 2], [7, 5, 1, 1, 1]])
table = nn.Embedding(11, 12)
layer = Attention(12, 3)
mask = tokens.eq(pad_id)[:, None, None, :]
print(layer(table(tokens), mask).shape)
