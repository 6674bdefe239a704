# 编码器块：先用官方的多头注意力，再用手写的一层
import torch
from torch import nn


class DecoderBlock(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.n1 = nn.LayerNorm(d)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.n2 = nn.LayerNorm(d)

    def forward(self, x):
        x = self.n1(x + self.self_attn(x, x, x, need_weights=False)[0])
        q, k, v = self.q(x), self.k(x), self.v(x)
        a = torch.softmax(torch.bmm(q, k.permute(0, 2, 1)) / q.shape[-1] ** 0.5, dim=-1)
        return self.n2(x + torch.bmm(a, v))


torch.manual_seed(0)
block = DecoderBlock(8, 2)
print(block(torch.randn(2, 5, 8)).shape)
