import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        attn = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        blocked = pad[:, None, None, :].expand_as(attn)
        attn[blocked] = torch.finfo(attn.dtype).min
        attn = attn.softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, c))


torch.manual_seed(4)
ids = torch.tensor([[2, 7, 5, 9], [8, 3, 1, 1]])
print(Attention(8, 2)(nn.Embedding(10, 8)(ids), ids == 1)[1])
